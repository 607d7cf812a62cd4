"""This package holds the baselines: programs that answer tasks. Each run makes the same submission, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from evaluator.records import FORMAT, Method, SuiteManifest, Task, json_lines
from evaluator.submissions.baselines.baseline import Baseline
from evaluator.submissions.baselines.control import ALWAYS_TRUE, SECOND_REFERENCE
from evaluator.submissions.baselines.retrieval import TFIDF_RETRIEVAL
from evaluator.submissions.baselines.rules import RULE_BASED
from evaluator.submissions.baselines.training import TrainingPair, read_pairs

__all__ = ["BASELINES", "Baseline", "TrainingPair", "files_of", "read_pairs"]

BASELINES: Final[Mapping[str, Baseline]] = {
    "always-true": ALWAYS_TRUE,
    "rules": RULE_BASED,
    "second-reference": SECOND_REFERENCE,
    "tfidf-retrieval": TFIDF_RETRIEVAL,
}
"""The baselines by the slug of their submission."""

_CONTROL_FORMAT: Final = 2
"""The first format of a manifest with the method `control`."""


def files_of(
    baseline: Baseline, suites: Sequence[tuple[SuiteManifest, Sequence[Task]]], pairs: Sequence[TrainingPair]
) -> dict[str, bytes]:
    """Return the files of the submission with which a baseline answers the tasks of suites, by file name."""
    answers = {f"{suite.name}.jsonl": json_lines(baseline.predict(tasks, pairs)).encode() for suite, tasks in suites}
    return {"submission.toml": _manifest(baseline, [suite for suite, _ in suites]).encode(), **answers}


def _manifest(baseline: Baseline, suites: Sequence[SuiteManifest]) -> str:
    lines = [
        f"format = {_CONTROL_FORMAT if baseline.method is Method.CONTROL else FORMAT}",
        f"system = {_text(baseline.system)}",
        f"description = {_text(baseline.description)}",
        "open_weights = true",
        f'method = "{baseline.method}"',
        *(['training_data = ["fixtures/train/pairs.jsonl"]'] if baseline.learns else []),
        "",
        "[[authors]]",
        'name = "Bashboard"',
        "",
        "[suites]",
        *(f'{suite.name} = "{suite.version}"' for suite in suites),
    ]
    return "".join(f"{line}\n" for line in lines)


def _text(value: str) -> str:
    """Return a text as a TOML string. Its JSON form is valid TOML, because TOML accepts all escapes of JSON."""
    return json.dumps(value, ensure_ascii=False)
