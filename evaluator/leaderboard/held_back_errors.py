"""The errors of judges on commands for tasks that their rules were not written from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from evaluator.records import AnswerFigures, JudgeFigures, Part, Validation


@dataclass(frozen=True, slots=True)
class HeldBackErrors:
    """A judge's errors on the commands for the tasks of a suite that its rules were not written from.

    `source` tells what the commands are. `wrong` and `right` count the commands with these labels.
    """

    judge: str
    version: int
    suite: str
    source: str
    wrong: int
    false_passes: int
    right: int
    false_fails: int
    undecided: int

    @property
    def all(self) -> int:
        """Return the number of labelled commands."""
        return self.wrong + self.right


def held_back_pairs(validation: Validation) -> list[HeldBackErrors]:
    """Return the errors of each judge on the held-back pairs of each suite, over all kinds of pairs."""

    def key(row: JudgeFigures) -> tuple[str, str, str, int]:
        return row.suite, row.judge, row.model, row.version

    held_back = [row for row in validation.figures if row.part is Part.HELD_BACK]
    order = list(dict.fromkeys(map(key, held_back)))
    groups = groupby(sorted(held_back, key=lambda row: order.index(key(row))), key)
    return [_pair_errors(list(rows)) for _, rows in groups]


def _pair_errors(rows: Sequence[JudgeFigures]) -> HeldBackErrors:
    first = rows[0]
    return HeldBackErrors(
        judge=f"{first.judge}, {first.model}" if first.model else first.judge,
        version=first.version,
        suite=first.suite,
        source="pairs of commands",
        wrong=sum(row.wrong for row in rows),
        false_passes=sum(row.wrong_passed for row in rows),
        right=sum(row.equivalent for row in rows),
        false_fails=sum(row.equivalent_failed for row in rows),
        undecided=sum(row.undecided for row in rows),
    )


def answer_errors(row: AnswerFigures) -> HeldBackErrors:
    """Return a judge's errors on the answers of real systems."""
    return HeldBackErrors(
        judge=row.judge,
        version=row.version,
        suite=row.suite,
        source="answers of real systems",
        wrong=row.wrong,
        false_passes=row.passes_right.whole - row.passes_right.part,
        right=row.right,
        false_fails=row.fails_right.whole - row.fails_right.part,
        undecided=row.undecided.part,
    )


def most_pairs(validation: Validation) -> list[HeldBackErrors]:
    """Return the errors of every judge on the suite with the most held-back pairs. The list may be empty."""
    rows = held_back_pairs(validation)
    largest = max(rows, key=lambda row: row.all, default=None)
    return [] if largest is None else [row for row in rows if row.suite == largest.suite]


def errors_of(validation: Validation, judge: str, suite: str) -> HeldBackErrors | None:
    """Return the errors of a judge on the held-back pairs of a suite, or None if the judge was not measured.

    If the judge was not measured on this suite, return its errors on the suite with the most pairs.
    """
    rows = [row for row in held_back_pairs(validation) if row.judge == judge and row.all]
    return max(rows, key=lambda row: (row.suite == suite, row.all), default=None)
