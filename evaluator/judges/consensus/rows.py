"""Split a text into rows, and test whether the rows of two texts differ only in layout."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from typing import Final, NamedTuple

from evaluator.judges.consensus.nondeterministic import Text, masked_fields
from evaluator.judges.consensus.normalise import (
    is_heading,
    row_fields,
    split_fields,
    without_colour,
    without_final_slash,
)

LEAST_TEACHERS: Final = 3
"""The fewest references that teach the form of lines. A `set` task of the project's own suites has at least as many."""

ANY_NUMBER: Final = 1 << 30
"""Number of nondeterministic words in a row if this number itself changes from run to run."""


class OutputRow(NamedTuple):
    """A printed line: its stable fields in printed order, and the number of its nondeterministic fields (`wild`)."""

    fields: tuple[bytes, ...]
    wild: int
    line: int
    text: bytes


class RowKey(NamedTuple):
    """The identity of a row: its stable fields in sorted order, and the number of its nondeterministic fields."""

    fields: tuple[bytes, ...]
    wild: int


class Table(NamedTuple):
    """The rows of a text. `rows` has the printed order, and `by_key` groups rows with equal fields.

    `field_count` is the number of stable fields of all rows together.
    """

    rows: tuple[OutputRow, ...]
    by_key: Mapping[RowKey, list[OutputRow]]
    field_count: int


@lru_cache(maxsize=32)
def table_of(text: Text) -> Table:
    """Return the rows of a text. Blank lines and the heading of `ls -l` are not rows.

    The function caches its result, because the judge compares each text several times.
    """
    with _without_collector():
        return _read_table(text)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Switch the cyclic garbage collector off. It takes half of the time of a long table, and rows have no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read_table(text: Text) -> Table:
    masked = masked_fields(text.masked)
    lines = text.data.split(b"\n")
    rows: list[OutputRow] = []
    by_key: dict[RowKey, list[OutputRow]] = {}
    fields_of: dict[bytes, tuple[bytes, ...]] = {}  # by line, because a line may come very often
    group_of: dict[bytes, list[OutputRow]] = {}
    for number, (line, following) in enumerate(zip_longest(lines, lines[1:]), start=1):
        is_title = line.startswith(b"total ") and not text.by_line and is_heading(line, following)
        if not line or is_title:
            continue
        if number - 1 in masked:
            row = _masked_row(line, number, masked[number - 1])
            group = by_key.setdefault(RowKey(tuple(sorted(row.fields)), row.wild), [])
        else:
            if line not in fields_of:
                fields_of[line] = whole_line(line) if text.by_line else tuple(row_fields(line))
                group_of[line] = by_key.setdefault(RowKey(tuple(sorted(fields_of[line])), 0), [])
            row, group = OutputRow(fields_of[line], 0, number, line), group_of[line]
        if row.fields or row.wild:
            rows.append(row)
            group.append(row)
    by_key.pop(RowKey((), 0), None)
    return Table(tuple(rows), by_key, sum(len(key.fields) * len(group) for key, group in by_key.items()))


def whole_line(line: bytes) -> tuple[bytes, ...]:
    """Return a line as its only field. The width of blanks, colour and a final slash of the line do not count."""
    words = without_final_slash(b" ".join(split_fields(without_colour(line))))
    return (words,) if words else ()


def by_line(texts: Sequence[Text]) -> Sequence[Text]:
    """Return the texts of all references with each line as one field. Return no text if their lines are not equal.

    Fewer than three references teach no form. Two of them may use the same layout by chance.
    """
    if len(texts) < LEAST_TEACHERS or any(text.truncated or text.masked for text in texts):
        return ()
    whole = [replace(text, by_line=True) for text in texts]
    return whole if all(same_rows(table_of(whole[0]), table_of(text)) for text in whole[1:]) else ()


def _masked_row(line: bytes, number: int, fields: frozenset[int | None]) -> OutputRow:
    if None in fields:
        return OutputRow((), ANY_NUMBER, number, line)
    words = [word for field, word in enumerate(split_fields(line)) if field not in fields]
    return OutputRow(tuple(row_fields(b" ".join(words))), len(fields), number, line)


def same_rows(left: Table, right: Table) -> bool:
    """Return whether both tables have each row equally often. The result is false if a field is nondeterministic."""
    if len(left.rows) != len(right.rows) or left.by_key.keys() != right.by_key.keys():
        return False
    counts = all(len(rows) == len(right.by_key[key]) for key, rows in left.by_key.items())
    return counts and not any(key.wild for key in left.by_key)


def all_fields(rows: Iterable[OutputRow]) -> Counter[bytes]:
    """Count how often each field occurs in all rows together."""
    return Counter(field for row in rows for field in row.fields)


def can_be_rejoined(references: Sequence[Table]) -> bool:
    """Return whether a reader finds the rows of these references again in other line breaks.

    All rows must have the same number of fields. This rule holds only for three or more references, as in the project's
    own suites. The instructions of other suites do not say whether line breaks count.
    """
    return len(references) < LEAST_TEACHERS or all(
        len({len(row.fields) for row in table.rows}) <= 1 for table in references
    )


def is_other_layout(table: Table, reference: Table) -> bool:
    """Return whether a table differs from the reference at most in line breaks and in the order of the rows.

    The fields of a reference row must stay together. Otherwise a wrong command could pass that assigns the right values
    to the wrong items, such as `a 5` and `b 3` instead of `a 3` and `b 5`.
    """
    if table.field_count != reference.field_count or any(row.wild for row in (*table.rows, *reference.rows)):
        return False
    fields = [field for row in table.rows for field in row.fields]
    if fields == [field for row in reference.rows for field in row.fields]:
        return True
    unmatched = Counter(row.fields for row in reference.rows)
    lengths = sorted({len(row.fields) for row in reference.rows}, reverse=True)
    start = 0
    while start < len(fields):
        length = next((n for n in lengths if unmatched[tuple(fields[start : start + n])] > 0), 0)
        if not length:
            return False
        unmatched[tuple(fields[start : start + length])] -= 1
        start += length
    return True
