"""Collect the tasks that each submission of a board passes."""

from __future__ import annotations

from evaluator.leaderboard.board import SuiteBoard


def passed_tasks(board: SuiteBoard) -> dict[str, frozenset[str]]:
    """Return the tasks that each submission passes with its first candidate."""
    answers = board.answers
    return {standing.submission: answers.passed(standing.submission) for standing in board.standings}


def asked_tasks(board: SuiteBoard) -> dict[str, frozenset[str]]:
    """Return the tasks that each submission was asked."""
    answers = board.answers
    return {standing.submission: answers.asked(standing.submission) for standing in board.standings}
