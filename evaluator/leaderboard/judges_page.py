"""The page about judges: the errors of the judge that ranks, the results of every judge, the agreement with people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from markupsafe import Markup

from evaluator.leaderboard.environment import render
from evaluator.records import AnswerFigures, JudgeFigures, PairKind, Part, Validation

RANKING_JUDGE: Final = "consensus"
"""The name of the judge whose verdicts rank the systems."""

CHART: Final = "judges"
"""The name of the chart of the judges' errors, and of its files."""

PARTS: Final = {Part.ALL: "all", Part.WRITTEN_FROM: "seen", Part.HELD_BACK: "held back"}
"""The names of the parts of a suite: the rules of judges were written from the tasks that are `seen`."""

_PAIRS: Final = {
    PairKind.TABLE_4: "Equivalent pairs, and pairs with another task's command",
    PairKind.NEAR_MISSES: "Near misses: wrong commands that look right",
    PairKind.MUTANTS: "Mutants: references with one slip",
    PairKind.LABELLED: "Mutants and others, labelled by hand",
}


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


def _answer_errors(row: AnswerFigures) -> HeldBackErrors:
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


def render_judges_summary(validation: Validation, drawing: str, script: str) -> str:
    """Return the HTML of the errors of the judge that ranks, with a chart of all judges.

    `drawing` is the chart as SVG, or "" for none. `script` is the path below `board/` of the script that draws charts.
    """
    own = [row for row in most_pairs(validation) if row.judge == RANKING_JUDGE]
    answers = [row for row in validation.answers if row.part is Part.HELD_BACK and row.judge == RANKING_JUDGE]
    return render(
        "judges_summary.html",
        first=own[0] if own else None,
        rows=[*own, *map(_answer_errors, answers)],
        drawings={CHART: Markup(drawing)} if drawing else {},  # noqa: S704 - drawn by the builder
        script=script,
    )


def render_judges(validation: Validation) -> str:
    """Return the HTML of the judges' metrics on every set of pairs, and of the comparison with people."""

    def key(metrics: JudgeFigures) -> tuple[str, str, PairKind]:
        return metrics.suite, metrics.suite_version, metrics.kind

    sets = [
        (f"{suite}-{kind.value}", Markup(f"{_PAIRS[kind]}, {suite} {version}"), list(rows))  # noqa: S704 - our words
        for (suite, version, kind), rows in groupby(validation.figures, key)
    ]
    return render("judges.html", sets=sets, parts=PARTS, agreements=validation.agreements, ranking=RANKING_JUDGE)
