"""This package is the `bashboard` command line. Each command calls the pipeline and has an example in its help.

A command imports its implementation only when it runs, so the help appears quickly. An error is printed as one line on
standard error. Exit codes: 0 success, 1 check failed, 2 usage error, 3 missing prerequisite.
"""

from __future__ import annotations

import gc
import os

from evaluator.cli.adjudication import adjudicate
from evaluator.cli.app import add_commands, app
from evaluator.cli.appeal import appeal
from evaluator.cli.bench import benches
from evaluator.cli.board import build, rescore, score, serve, standings
from evaluator.cli.changes import changes
from evaluator.cli.compare import compare
from evaluator.cli.contested import contested
from evaluator.cli.corpus import corpus
from evaluator.cli.doctor import doctor, schema
from evaluator.cli.evidence import evidence, fetch
from evaluator.cli.explain import explain
from evaluator.cli.generate import generate
from evaluator.cli.image import image
from evaluator.cli.judges import judges
from evaluator.cli.metrics import metrics
from evaluator.cli.panel import panel
from evaluator.cli.preview import preview
from evaluator.cli.publish import publish
from evaluator.cli.publish_steps import collect, commit, propose
from evaluator.cli.quarantine import quarantine
from evaluator.cli.report import report
from evaluator.cli.run import run
from evaluator.cli.study import study
from evaluator.cli.submission import baseline, check
from evaluator.cli.submit import submit
from evaluator.cli.suite import suites
from evaluator.cli.text_output import accept_any_text

add_commands(
    app,
    *(generate, check, score, preview, doctor),
    *(standings, compare, explain, run, fetch, build, serve, schema),
    *(rescore, contested, adjudicate, baseline, quarantine),
    *(report, appeal),
)
for title, group in {
    "submit": submit,
    "suite": suites,
    "judges": judges,
    "metrics": metrics,
    "corpus": corpus,
    "study": study,
    "bench": benches,
    "panel": panel,
    "image": image,
    "evidence": evidence,
    "publish": publish,
}.items():
    app.add_typer(group, name=title)
add_commands(publish, collect, commit, propose, changes)


def main() -> None:
    """Run the `bashboard` command with the arguments of this process."""
    # the tables are small: further threads only take CPU time, and `build` computes in two processes
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    # records have no reference cycles, and looking for cycles took a fifth of the time of `bashboard standings`
    gc.set_threshold(100_000, 20, 100)
    accept_any_text()
    app()


__all__ = ["app", "main"]
