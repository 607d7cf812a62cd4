"""The part of the page about judges with their results on labelled answers of real systems."""

from __future__ import annotations

from typing import Final

from evaluator.leaderboard.environment import render
from evaluator.leaderboard.judges_page import PARTS, RANKING_JUDGE
from evaluator.records import AnswerFigures, Validation

_SHARES: Final = {
    "passes_right": ("Passes right", "share of its passes"),
    "fails_right": ("Fails right", "share of its fails"),
    "undecided": ("Undecided", "share of all answers"),
    "accuracy": ("Accuracy", "undecided as fail"),
    "accuracy_perfect_panel": ("With a perfect panel", "undecided as labelled"),
    "right_passed": ("Right passed", "share of right answers"),
    "right_failed": ("Right failed", "share of right answers"),
    "wrong_failed": ("Wrong failed", "share of wrong answers"),
}
"""The title and the note of the column of each share."""


def render_real_answers(validation: Validation) -> str:
    """Return the HTML of two tables for each suite: the shares of all judges, and the labels by step and rule."""
    suites = [
        (numbers, [row for row in validation.answers if row.suite == numbers.suite])
        for numbers in validation.answer_sets
    ]
    measured = [(numbers, rows) for numbers, rows in suites if rows]
    return render(
        "real_answers.html", suites=measured, parts=PARTS, shares=_SHARES, rows_of=_confusion, ranking=RANKING_JUDGE
    )


def _confusion(rows: list[AnswerFigures]) -> list[tuple[AnswerFigures, object]]:
    return [(figures, row) for figures in rows for row in figures.confusion]
