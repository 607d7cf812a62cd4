"""Collect the tasks that each submission of a board passes."""

from __future__ import annotations

from evaluator.leaderboard.board import SuiteBoard
from evaluator.records import Outcome


def passed_tasks(board: SuiteBoard) -> dict[str, frozenset[str]]:
    """Return the tasks that each submission passes with its first candidate."""
    passed: dict[str, set[str]] = {standing.submission: set() for standing in board.standings}
    for result in board.results:
        if result.rank == 1 and result.finding.outcome is Outcome.PASS:
            passed[result.submission].add(result.task)
    return {slug: frozenset(tasks) for slug, tasks in passed.items()}


def asked_tasks(board: SuiteBoard) -> dict[str, frozenset[str]]:
    """Return the tasks that each submission was asked."""
    asked: dict[str, set[str]] = {standing.submission: set() for standing in board.standings}
    for result in board.results:
        asked[result.submission].add(result.task)
    return {slug: frozenset(tasks) for slug, tasks in asked.items()}
