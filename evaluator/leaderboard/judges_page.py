"""How good the judge is: what every judge made of pairs whose label is known, and how it agrees with people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from evaluator.leaderboard.escaping import inline
from evaluator.leaderboard.markup import Column, cell, head_cell, number_cell, row, table
from evaluator.records import AnnotatorAgreement, JudgeFigures, PairKind, Part, Validation

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
_COLUMNS: Final = (
    Column("judge", "Judge"),
    Column("part", "Tasks", facet=True),
    Column("equivalent", "Equivalent", "number"),
    Column("wrong", "Wrong", "number"),
    Column("false-passes", "False passes", "number"),
    Column("false-fails", "False fails", "number"),
    Column("undecided", "Undecided", "number"),
    Column("accuracy", "Accuracy", "number", "undecided as fail"),
    Column("decided", "Of decided", "number", "share that is right"),
    Column("precision", "Precision", "number"),
    Column("recall", "Recall", "number"),
    Column("f1", "F1", "number"),
    Column("seconds", "Seconds", "number"),
    Column("usd", "US$", "number"),
)
_PEOPLE: Final = (
    Column("measure", "Measure"),
    Column("rows", "Commands", facet=True),
    Column("number", "Number", "number"),
    Column("raw", "Agreement", "number"),
    Column("kappa", "Cohen's κ", "number"),
    Column("auc", "AUC", "number"),
)


def judges_part(validation: Validation) -> str:
    """The HTML of every set's figures and of the comparison with people."""
    groups = groupby(validation.figures, key=lambda each: (each.suite, each.suite_version, each.kind))
    parts = [_figures(suite, version, kind, list(rows)) for (suite, version, kind), rows in groups]
    if validation.agreements:
        parts.append(_agreements(validation.agreements))
    return "".join(parts) or "<p>No judge has been measured yet.</p>\n"


def _figures(suite: str, version: str, kind: PairKind, rows: Sequence[JudgeFigures]) -> str:
    name = f"{suite}-{kind.value}"
    heading = f'<h3 id="{name}">{_PAIRS[kind]}, {suite} {version}</h3>\n'
    return heading + table(f"judges-{name}", "Every judge on the same pairs.", _COLUMNS, map(_row, rows))


def _row(each: JudgeFigures) -> str:
    counts = (each.equivalent, each.wrong, each.wrong_passed, each.equivalent_failed, each.undecided)
    rates = (each.accuracy, each.accuracy_decided, each.precision, each.recall, each.f1)
    return row(
        head_cell(f"<code>{inline(each.judge)}</code>, version {each.version}", each.judge),
        cell(_PARTS[each.part], each.part.value),
        *(number_cell(str(count), count) for count in counts),
        *map(_rate, rates),
        number_cell(f"{each.seconds:.2f}", each.seconds),
        number_cell(f"{each.usd:.2f}", each.usd),
    )


def _rate(value: float | None) -> str:
    return number_cell("\N{EN DASH}") if value is None else number_cell(f"{value:.3f}", value)


def _agreements(agreements: Sequence[AnnotatorAgreement]) -> str:
    heading = '<h3 id="people">Agreement with people</h3>\n'
    caption = "Commands that people judged by reading, without running them."
    return heading + table("judges-people", caption, _PEOPLE, _agreement_rows(agreements))


def _agreement_rows(agreements: Sequence[AnnotatorAgreement]) -> Iterator[str]:
    for each in agreements:
        rates = (each.raw, each.kappa, each.auc)
        yield row(
            head_cell(inline(each.measure)),
            cell(each.rows_of, each.rows_of),
            number_cell(str(each.rows), each.rows),
            *map(_rate, rates),
        )
