"""The page about judges: the errors of the judge that ranks, the results of every judge, the agreement with people."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from markupsafe import Markup

from evaluator.leaderboard.chart_groups import ChartGroup
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.held_back_errors import answer_errors, most_pairs
from evaluator.records import BlindFigures, JudgeFigures, PairKind, Part, Validation

RANKING_JUDGE: Final = "consensus"
"""The name of the judge whose verdicts rank the systems."""

PARTS: Final = {Part.ALL: "all", Part.WRITTEN_FROM: "seen", Part.HELD_BACK: "held back"}
"""The names of the parts of a suite: the rules of judges were written from the tasks that are `seen`."""

_PAIRS: Final = {
    PairKind.TABLE_4: "Equivalent pairs, and pairs with another task's command",
    PairKind.NEAR_MISSES: "Near misses: wrong commands that look right",
    PairKind.MUTANTS: "Mutants: references with one slip",
    PairKind.LABELLED: "Mutants and others, labelled by hand",
}


def render_judges_summary(validation: Validation, group: ChartGroup | None, script: str) -> str:
    """Return the HTML of the errors of the judge that ranks, with a chart of all judges.

    `group` has the chart, if there is one. `script` is the path below `board/` of the script that draws charts.
    """
    own = [row for row in most_pairs(validation) if row.judge == RANKING_JUDGE]
    answers = [row for row in validation.answers if row.part is Part.HELD_BACK and row.judge == RANKING_JUDGE]
    return render(
        "judges_summary.html",
        first=own[0] if own else None,
        rows=[*own, *map(answer_errors, answers)],
        group=group,
        script=script,
    )


def render_blind_set(validation: Validation) -> str:
    """Return the HTML of the results on blind sets: a sentence about the held-back half, and a table for each suite.

    The table has the results on each tier for the judge that ranks alone. Without results, return an empty text.
    """
    shown = [row for row in validation.blind if row.tier is None or row.judge == RANKING_JUDGE]
    return render(
        "blind_set.html",
        first=[row for row in shown if is_quoted(row)],
        suites=[(suite, list(rows)) for suite, rows in groupby(shown, lambda row: row.suite)],
        parts=PARTS,
        ranking=RANKING_JUDGE,
    )


def is_quoted(row: BlindFigures) -> bool:
    """Return whether a row is quoted: the judge that ranks, on all held-back tasks, with answers of both kinds."""
    held_back = row.part is Part.HELD_BACK and row.tier is None and row.judge == RANKING_JUDGE
    return held_back and bool(row.wrong_passed.whole and row.right_failed.whole)


def render_judges(validation: Validation) -> str:
    """Return the HTML of the judges' metrics on every set of pairs, and of the comparison with people."""

    def key(metrics: JudgeFigures) -> tuple[str, str, PairKind]:
        return metrics.suite, metrics.suite_version, metrics.kind

    sets = [
        (f"{suite}-{kind.value}", Markup(f"{_PAIRS[kind]}, {suite} {version}"), list(rows))  # noqa: S704 - our words
        for (suite, version, kind), rows in groupby(validation.figures, key)
    ]
    return render("judges.html", sets=sets, parts=PARTS, agreements=validation.agreements, ranking=RANKING_JUDGE)
