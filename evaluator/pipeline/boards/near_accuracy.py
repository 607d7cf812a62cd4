"""Compute the accuracy of fine-tuned submissions on the tasks that are near to their training data, and on the others.

Which tasks are near is what the authors report. Nothing here compares training data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal

from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.accuracy import wilson_bounds
from evaluator.pipeline.boards.passed_tasks import asked_tasks, passed_tasks
from evaluator.records import NearReport, NearSlice, NearTasks, Standing, SuiteContamination, Tally


def near_reports(board: SuiteBoard) -> dict[str, NearReport]:
    """Return the report of each submission that declares one for the suite of the board, with its accuracies."""
    passed, asked = passed_tasks(board), asked_tasks(board)
    found: dict[str, NearReport] = {}
    for standing in board.standings:
        slug = standing.submission
        tuning = board.submissions[slug].fine_tuning
        declared = tuning.contamination.get(board.name) if tuning else None
        if declared is None:
            continue
        missing = _missing(board, declared, standing)
        if missing is not None:
            rows = tuple(NearSlice(tier=tier, counts=counts) for tier, counts in _counts(declared))
        else:
            rows = tuple(_slices(board, declared, asked[slug], passed[slug]))
        found[slug] = NearReport(rows=rows, missing=missing)
    return found


def _counts(declared: SuiteContamination) -> Iterator[tuple[str, NearTasks]]:
    """Yield the counts of all tasks, and those of each tier if they are reported."""
    yield "all", NearTasks.model_validate({name: getattr(declared, name) for name in NearTasks.model_fields})
    yield from ((tier.value, counts) for tier, counts in declared.tiers.items())


def _missing(
    board: SuiteBoard, declared: SuiteContamination, standing: Standing
) -> Literal["not-listed", "other-tasks", "no-verdicts"] | None:
    """Return the reason why the accuracy on the two parts is not known, or None if it is known."""
    if declared.near and not declared.near_tasks:
        return "not-listed"
    if declared.tasks != len(board.tasks) or not {task.id for task in board.tasks}.issuperset(declared.near_tasks):
        return "other-tasks"
    return "no-verdicts" if standing.infra_errors else None


def _slices(
    board: SuiteBoard, declared: SuiteContamination, asked: Collection[str], passed: Collection[str]
) -> Iterator[NearSlice]:
    """Yield the slices with the accuracy on both parts. A tier whose counts are not those of its tasks has none."""
    tiers: Mapping[str, set[str]] = {
        tier: {task.id for task in board.tasks if tier == "all" or task.tier == tier} for tier, _ in _counts(declared)
    }
    for tier, counts in _counts(declared):
        near = tiers[tier].intersection(declared.near_tasks)
        if len(tiers[tier]) != counts.tasks or len(near) != counts.near:
            yield NearSlice(tier=tier, counts=counts)
            continue
        others = _tally(tiers[tier] - near, asked, passed)
        low, high = wilson_bounds(others.passed, others.asked)
        tally = _tally(near, asked, passed)
        yield NearSlice(tier=tier, counts=counts, near=tally, others=others, others_low=low, others_high=high)


def _tally(tasks: Collection[str], asked: Collection[str], passed: Collection[str]) -> Tally:
    return Tally(asked=sum(task in asked for task in tasks), passed=sum(task in passed for task in tasks))
