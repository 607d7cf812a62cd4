"""Boards with chosen manifests, on which each submission passes exactly the tasks that a test names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.group_runs import method_runs
from evaluator.pipeline.boards.near_accuracy import near_reports
from evaluator.records import Author, Finding, Method, Outcome, Step, SubmissionManifest, Tier
from evaluator.testing.boards import board_of, drawn_board, result_of

PASSED: Final = Finding(outcome=Outcome.PASS, step=Step.EQUAL, reason="equal to reference 1 in every variant")
FAILED: Final = Finding(outcome=Outcome.FAIL, step=Step.OUTPUT, reason="prints something else")
LOST: Final = Finding(outcome=Outcome.INFRA_ERROR, reason="the engine did not answer")
FINDINGS: Final = {"+": PASSED, "-": FAILED, "?": LOST}


def recipe(model: str, *methods: str, **fields: Any) -> dict[str, Any]:
    """Return a table `[generation]` of a manifest."""
    return {"base_model": model, "methods": list(methods) or ["baseline"], "prompt": "imperative", **fields}


def manifest(
    generation: Mapping[str, Any] | None = None,
    fine_tuning: Mapping[str, Any] | None = None,
    method: Method = Method.PROMPTED,
    author: str = "A group",
) -> SubmissionManifest:
    """Return a manifest with these two tables."""
    return SubmissionManifest.model_validate(
        {
            "format": 3,
            "system": "A system",
            "authors": [Author(name=author)],
            "open_weights": False,
            "method": method,
            "suites": {"core": "1.0.0"},
            "generation": generation,
            "fine_tuning": fine_tuning,
        }
    )


def method_board(
    answers: Mapping[str, tuple[SubmissionManifest, str]],
    owners: Mapping[str, int | None] | None = None,
    tiers: Mapping[str, Tier] | None = None,
) -> SuiteBoard:
    """Return a board whose submissions have these manifests and marks.

    A mark stands for a task, in the order of the tasks: `+` for passed, `-` for failed, `?` for no verdict.
    """
    size = max(len(marks) for _, marks in answers.values())
    tasks = tuple(task.model_copy(update={"tier": (tiers or {}).get(task.id)}) for task in drawn_board(1, size).tasks)
    results = [
        result_of(slug, task.id, b"true", FINDINGS[mark])
        for slug, (_, marks) in answers.items()
        for task, mark in zip(tasks, marks, strict=True)
    ]
    board = board_of(tasks, {slug: own for slug, (own, _) in answers.items()}, results)
    board = dataclasses.replace(board, method_runs=method_runs(board, owners or {}))
    return dataclasses.replace(board, near_reports=near_reports(board))
