"""This package is the `bashboard` command line. Each command calls the pipeline and has an example in its help.

A command imports its implementation only when it runs, so the help appears quickly. An error is printed as one line on
standard error. Exit codes: 0 success, 1 check failed, 2 usage error, 3 missing prerequisite.
"""

from __future__ import annotations

from evaluator.cli.adjudication import adjudicate
from evaluator.cli.app import app
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

for command in (
    *(score, rescore, standings, compare, preview, explain, contested, adjudicate, appeal, run, check),
    *(generate, baseline, build, serve, doctor, schema, fetch, quarantine, report),
):
    app.command(epilog=command.__dict__.get("epilog"))(command)
app.add_typer(submit, name="submit")
app.add_typer(study, name="study")
app.add_typer(suites, name="suite")
app.add_typer(judges, name="judges")
app.add_typer(panel, name="panel")
app.add_typer(metrics, name="metrics")
app.add_typer(corpus, name="corpus")
app.add_typer(benches, name="bench")
app.add_typer(image, name="image")
app.add_typer(evidence, name="evidence")
app.add_typer(publish, name="publish")
for step in (collect, commit, propose, changes):
    publish.command(epilog=step.__dict__["epilog"])(step)


def main() -> None:
    """Run the `bashboard` command with the arguments of this process."""
    app()


__all__ = ["app", "main"]
