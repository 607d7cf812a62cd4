"""Compare a corrected edition of a suite with the suites that it corrects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from evaluator.pipeline.project import Project
from evaluator.suites.corrected_pairs import PUBLISHED, corrected_pairs, correction_counts

_PUBLISHED_FOR: Final = ("nl2sh-alfa", {"intercode", "intercode-test"})
"""The corrected suite and the corrections of the published table."""


def suite_corrections(project: Project, name: str, first: Sequence[str]) -> dict[str, Any]:
    """Return the classes of each task of the suites `first`, their counts, and the published counts if there are any.

    Raises UsageError if a suite is unknown or was never fetched.
    """
    corrected = project.suite(name)
    pairs = [
        (suite, pair)
        for suite in dict.fromkeys(first)
        for pair in corrected_pairs(project.suite(suite).tasks, corrected.tasks)
    ]
    return {
        "tasks": [
            {"suite": suite, "task": pair.task, "partner": pair.partner, "classes": [str(one) for one in pair.classes]}
            for suite, pair in pairs
        ],
        "counts": correction_counts([pair for _, pair in pairs]),
        "published": dict(PUBLISHED) if (name, set(first)) == _PUBLISHED_FOR else {},
    }
