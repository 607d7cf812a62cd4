"""Compare the rows of two texts of an open task, apart from their presentation.

An open instruction leaves the presentation of an answer to the author of a command. `PRESENTATIONS` is the closed list
of differences that do not count, in addition to the equivalent formats that precise tasks also accept. The information
that the reference shows must be there. The candidate may show more about each item, but neither other items nor fewer.

Some words of an instruction fix a presentation. If the instruction asks for an order, the order of the rows counts. If
it asks for a total, a row with a total counts. If it asks for nothing more ("only", "just"), further fields count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from evaluator.judges.consensus.equivalent_formatting import FORM, Fields
from evaluator.judges.consensus.nondeterministic import Text
from evaluator.judges.consensus.outputs import SAME
from evaluator.judges.consensus.rows import table_of
from evaluator.judges.consensus.sets import compare_sets

_ORDER: Final = re.compile(
    r"\b(sort\w*|order\w*|revers\w*|first|last|ascending\w*|descending\w*|increasing\w*|decreasing\w*|alphabetic\w*"
    r"|largest|smallest|biggest|newest|oldest|longest|shortest|top|bottom|rank\w*|shuffl\w*|random\w*)\b",
    re.IGNORECASE,
)
"""Words of an instruction that asks for an order of the rows."""

_TOTAL: Final = re.compile(r"\b(totals?|sums?|overall|altogether|combined)\b", re.IGNORECASE)
_NAME: Final = re.compile(rb"[A-Za-z]")
_LEAST_NAMING: Final = 6
"""Minimum length of a field without letters that can identify a row, such as a date. A shorter number cannot."""

_MOST_DIGITS: Final = 18

PRESENTATIONS: Final[dict[str, str]] = {
    "layout": "The same fields in each row, with other blanks or in another order of rows or of fields.",
    "total": "A row `N total`, if N is the sum of the first fields of all other rows.",
    "columns": "More fields in a row, such as the name beside the sum. Each row still shows all fields of its item.",
}
"""The differences in presentation, by the name that a verdict gives as its reason."""


def presentation_of(candidate: Text, reference: Text, instruction: str, *, ordered: bool) -> str | None:
    """Return the name of the difference in presentation between two texts with the same information.

    Return None if the information differs. If `ordered` is true, the order of the rows counts if the instruction asks
    for an order.
    """
    if any(text.truncated or text.masked for text in (candidate, reference)):
        return "layout" if compare_sets(candidate, [reference]) == SAME else None
    is_ordered = ordered and _ORDER.search(instruction) is not None
    rows, expected = _rows(candidate), _rows(reference)
    name = "layout"
    if len(rows) != len(expected) and not _TOTAL.search(instruction):
        rows, expected = (_without_total(table) for table in (rows, expected))
        name = "total"
    if not expected or len(rows) != len(expected):
        return None
    if _equal(rows, expected, is_ordered):
        return name
    return "columns" if not FORM.search(instruction) and _has_columns(rows, expected, is_ordered) else None


def _rows(text: Text) -> list[Fields]:
    return [row.fields for row in table_of(text).rows]


def _equal(left: Sequence[Fields], right: Sequence[Fields], ordered: bool) -> bool:
    if ordered:
        return list(left) == list(right)
    return Counter(tuple(sorted(row)) for row in left) == Counter(tuple(sorted(row)) for row in right)


def _without_total(rows: list[Fields]) -> list[Fields]:
    """Return the rows without the row `N total`, if N is the sum of the first fields of all other rows."""
    amounts = [row[0] for row in rows]
    if len(rows) < 2 or not all(amount.isdigit() and len(amount) <= _MOST_DIGITS for amount in amounts):
        return rows
    everything = sum(map(int, amounts))
    for number, row in enumerate(rows):
        if len(row) == 2 and row[1] == b"total" and 2 * int(row[0]) == everything:
            return [*rows[:number], *rows[number + 1 :]]
    return rows


def _has_columns(rows: Sequence[Fields], expected: Sequence[Fields], ordered: bool) -> bool:
    """Return whether each row has all fields of one expected row, and perhaps more.

    In each expected row, a field must identify the row. A short number is no such field, because any number can stand
    among other fields. No two expected rows may be equal, and each row must fit one expected row only.
    """
    if len(set(expected)) != len(expected) or not all(any(map(_identifies, row)) for row in expected):
        return False
    if ordered:
        return all(not Counter(wanted) - Counter(row) for row, wanted in zip(rows, expected, strict=True))
    rows_by_field: dict[bytes, list[int]] = {}
    for number, row in enumerate(rows):
        for field in set(row):
            rows_by_field.setdefault(field, []).append(number)
    chosen: set[int] = set()
    for wanted in expected:
        rarest = min((rows_by_field.get(field, []) for field in wanted), key=len)
        found = [number for number in rarest if not Counter(wanted) - Counter(rows[number])]
        if len(found) != 1:
            return False
        chosen.add(found[0])
    return len(chosen) == len(expected)


def _identifies(field: bytes) -> bool:
    return len(field) >= _LEAST_NAMING or _NAME.search(field) is not None
