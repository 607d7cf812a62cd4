"""The page about judges: the results of every judge on pairs with known labels, and the agreement with people."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from markupsafe import Markup

from evaluator.leaderboard.environment import render
from evaluator.records import JudgeFigures, PairKind, Part, Validation

_PAIRS: Final = {
    PairKind.TABLE_4: "Equivalent pairs, and pairs with another task's command",
    PairKind.NEAR_MISSES: "Near misses: wrong commands that look right",
    PairKind.MUTANTS: "Mutants: references with one slip",
    PairKind.LABELLED: "Mutants and others, labelled by hand",
}
_PARTS: Final = {
    Part.ALL: "all",
    Part.WRITTEN_FROM: "rules were written from these",
    Part.HELD_BACK: "held back",
}


def render_judges(validation: Validation) -> str:
    """Return the HTML of the judges' metrics on every set of pairs, and of the comparison with people."""

    def key(metrics: JudgeFigures) -> tuple[str, str, PairKind]:
        return metrics.suite, metrics.suite_version, metrics.kind

    sets = [
        (f"{suite}-{kind.value}", Markup(f"{_PAIRS[kind]}, {suite} {version}"), list(rows))  # noqa: S704 - our words
        for (suite, version, kind), rows in groupby(validation.figures, key)
    ]
    return render("judges.html", sets=sets, parts=_PARTS, agreements=validation.agreements)
