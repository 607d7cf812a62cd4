"""The tables of error classes: one on a submission's page, and one of all systems on the page of comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from evaluator.leaderboard.environment import render
from evaluator.leaderboard.figures_part import SCORING
from evaluator.records import ErrorClass, Outcome, Result, Standing

MEANING: Final[Mapping[ErrorClass, str]] = {
    ErrorClass.NO_COMMAND: "Missing, not readable for the shell, or its first program does not exist.",
    ErrorClass.RIGHT_TEXT: "The text of a reference, and still not passed.",
    ErrorClass.RIGHT_EFFECT: "The state and the words of a reference, in another form.",
    ErrorClass.UTILITY: "Calls utilities that no reference calls together.",
    ErrorClass.FLAGS: "The utilities of a reference with other flags.",
    ErrorClass.ARGUMENTS: "The utilities and flags of a reference with other arguments.",
    ErrorClass.EFFECT: "The calls of a reference, combined in another way, or a script.",
}
"""The meaning of each class, in a sentence."""

_UNCLASSIFIED: Final = (Outcome.PASS, Outcome.INFRA_ERROR)
"""The outcomes that have no class of error."""


def render_error_classes(answers: Mapping[str, Sequence[Result]], limit: int) -> str:
    """Return the HTML of a submission's error classes, each with its number of tasks and its first answer.

    `answers` maps tasks to the results of their candidates. Texts are cut after `limit` escaped characters. If a first
    candidate that failed has no class, the result is empty, because the counts would not be complete.
    """
    counts: Counter[ErrorClass] = Counter()
    examples: dict[ErrorClass, Result] = {}
    for first, *_ in answers.values():
        if first.error is not None:
            counts[first.error] += 1
            examples.setdefault(first.error, first)
        elif first.finding.outcome not in _UNCLASSIFIED:
            return ""
    rows = [(kind.value, counts.get(kind, 0), MEANING[kind], examples.get(kind)) for kind in ErrorClass]
    failed, asked = counts.total(), len(answers)
    return render("error_classes.html", rows=rows, failed=failed, asked=asked, limit=limit, scoring=SCORING)


def error_rows(standings: Sequence[Standing]) -> list[tuple[Standing, list[int]]]:
    """Return the systems whose errors have classes, each with its numbers of tasks in the order of the classes."""
    classified = (standing for standing in standings if standing.figures.errors)
    return [(standing, [standing.figures.errors.get(kind, 0) for kind in ErrorClass]) for standing in classified]
