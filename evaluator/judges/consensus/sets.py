"""Compare printed rows as a set. Allow a difference between rows if the references differ in the same way.

The module `alignment` finds the items (such as files) in the output of the references. A core field of an item is a
field that all references show for the item. The judge assigns a row of the candidate to each item. The row must show
every core field of its item.

The candidate passes if, in one assignment, each row shows only fields that some reference shows for its item. If every
assignment has rows with other fields, the case is undecided, because no reference explains these fields. If there is no
assignment, the candidate fails: a core field or an item is missing, or there is an extra row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import Final

from evaluator.judges.consensus.alignment import Alignment, Item, align_references
from evaluator.judges.consensus.assignment import Assignment, assign
from evaluator.judges.consensus.nondeterministic import Text
from evaluator.judges.consensus.outputs import SAME, OutputComparison, OutputMatch
from evaluator.judges.consensus.rows import (
    OutputRow,
    Table,
    all_fields,
    can_be_rejoined,
    is_other_layout,
    same_rows,
    table_of,
)
from evaluator.judges.reasons import shown

_MAX_EDGES: Final = 50_000
"""Maximum number of (item, row) pairs. With more pairs, the rows are too similar to distinguish."""

_TOO_ALIKE: Final = OutputComparison(OutputMatch.UNKNOWN, "too many rows are alike to assign them to items")


_TORN: Final = OutputComparison(
    OutputMatch.DIFFERENT, "has other line breaks than the references, and its items cannot be told apart without them"
)


def compare_sets(candidate: Text, references: Sequence[Text]) -> OutputComparison:
    """Compare the candidate's rows with the rows of all references in one variant. The order of rows does not count."""
    if candidate.truncated or any(text.truncated for text in references):
        return _compare_truncated(candidate, references)
    table, tables = table_of(candidate), [table_of(text) for text in references]
    if any(same_rows(table, reference) for reference in tables):
        return SAME
    if not table.rows and all(reference.rows for reference in tables):
        return OutputComparison(OutputMatch.DIFFERENT, f"prints nothing, expected {shown(tables[0].rows[0].text)}", 1)
    alignment = align_references(tuple(references))
    if alignment.items is None:
        return _compare_unaligned(table, references, alignment)
    return _compare_aligned(table, tables, alignment.items)


def is_same_set(candidate: Text, reference: Text) -> bool:
    """Return whether both texts hold the same rows, in any order and with their fields in any order."""
    if candidate.truncated or reference.truncated:
        return candidate.digest == reference.digest
    return same_rows(table_of(candidate), table_of(reference))


def alignment_of(references: Sequence[Text]) -> str:
    """Return the reason why the rows of these references cannot be assigned to common items.

    Return an empty string if they can.
    """
    if any(text.truncated for text in references):
        return "a reference prints more than the recorded limit"
    return align_references(tuple(references)).problem


def _compare_truncated(candidate: Text, references: Sequence[Text]) -> OutputComparison:
    if any(text.digest == candidate.digest for text in references):
        return SAME
    if any(text.truncated for text in references):
        return OutputComparison(OutputMatch.UNKNOWN, "a reference prints more than the recorded limit")
    return OutputComparison(OutputMatch.DIFFERENT, "prints more than the recorded limit, and more than any reference")


def _compare_aligned(table: Table, tables: Sequence[Table], items: Sequence[Item]) -> OutputComparison:
    classes = list(table.by_key.values())
    samples, counts = [group[0] for group in classes], [len(group) for group in classes]
    possible = _edges(items, samples)
    if possible is None:
        return _TOO_ALIKE
    needed = [item.times for item in items]
    known_only = [[row for row in edges if _is_known(items[i], samples[row])] for i, edges in enumerate(possible)]
    if assign(needed, counts, known_only).is_complete:
        return SAME
    if any(is_other_layout(table, reference) for reference in tables):
        return SAME if can_be_rejoined(tables) else _TORN
    assignment = assign(needed, counts, possible)
    if assignment.is_complete:
        return _unknown_field(items, samples, assignment)
    if any(_is_rearranged(table, reference) for reference in tables):
        return OutputComparison(OutputMatch.UNKNOWN, "shows the fields of a reference, but mixes its items in one row")
    return _absent(items, samples, assignment)


def _is_rearranged(table: Table, reference: Table) -> bool:
    """Return whether both tables have the same fields, but different numbers of rows, such as a transposed table."""
    has_same_fields = len(table.rows) != len(reference.rows) and table.field_count == reference.field_count
    return has_same_fields and all_fields(table.rows) == all_fields(reference.rows)


def _edges(items: Sequence[Item], rows: Sequence[OutputRow]) -> list[list[int]] | None:
    """Return, for each item, the rows that show all core fields of the item: the fields that all references show.

    Return None if there are too many (item, row) pairs.
    """
    rows_by_field: dict[bytes, list[int]] = {field: [] for item in items for field in item.core}
    for number, row in enumerate(rows):
        for field in rows_by_field.keys() & row.fields:
            rows_by_field[field].append(number)
    wild = [number for number, row in enumerate(rows) if row.wild]
    edges, pair_count = [], 0
    for item in items:
        rarest: list[int] = min((rows_by_field[field] for field in item.core), key=len)
        pair_count += len(rarest) + len(wild)
        if pair_count > _MAX_EDGES:
            return None
        edges.append([row for row in sorted({*rarest, *wild}) if _has_core(item, rows[row])])
    return edges


def _has_core(item: Item, row: OutputRow) -> bool:
    """Return whether the row shows all core fields of the item: the fields that all references show.

    A nondeterministic field of the row may stand for any core field.
    """
    enough = len(row.fields) + row.wild >= item.core.total() + item.least_wild
    return enough and (item.core - Counter(row.fields)).total() <= row.wild


def _is_known(item: Item, row: OutputRow) -> bool:
    return (Counter(row.fields) - item.known).total() <= item.wild


def _unknown_field(items: Sequence[Item], rows: Sequence[OutputRow], assignment: Assignment) -> OutputComparison:
    for number, row in enumerate(rows):
        for item in assignment.flow[number]:
            unknown = Counter(row.fields) - items[item].known
            if unknown:
                sentence = f"line {row.line} also shows {shown(next(iter(unknown)))}, which no reference shows there"
                return OutputComparison(OutputMatch.UNKNOWN, sentence, row.line)
    return _TOO_ALIKE


def _absent(items: Sequence[Item], rows: Sequence[OutputRow], assignment: Assignment) -> OutputComparison:
    free_rows = [row for number, row in enumerate(rows) if assignment.free[number]]
    missing = next((item for number, item in enumerate(items) if assignment.need[number]), None)
    if missing is None:
        sentence = f"line {free_rows[0].line} is {shown(free_rows[0].text)}, which no reference shows"
        return OutputComparison(OutputMatch.DIFFERENT, sentence, free_rows[0].line)
    core = missing.core

    def shared_fields(row: OutputRow) -> int:
        return 0 if core.keys().isdisjoint(row.fields) else (core & Counter(row.fields)).total()

    nearest = max(free_rows, key=shared_fields, default=None)
    if nearest is None or not missing.core & Counter(nearest.fields):
        return OutputComparison(OutputMatch.DIFFERENT, f"no line shows the expected item {shown(missing.text)}")
    lacking = shown(next(iter(missing.core - Counter(nearest.fields)), b""))
    sentence = f"line {nearest.line} is {shown(nearest.text)}, expected {lacking} in it, as in {shown(missing.text)}"
    return OutputComparison(OutputMatch.DIFFERENT, sentence, nearest.line)


def _compare_unaligned(table: Table, references: Sequence[Text], alignment: Alignment) -> OutputComparison:
    """Compare the candidate with references whose rows cannot be assigned to common items.

    The candidate passes if it matches one reference alone. It fails if it lacks a field that all references have, or if
    one of its rows shares no field with any reference. Otherwise, the case is undecided.
    """
    tables = [table_of(text) for text in references]
    for text, reference in zip(references, tables, strict=True):
        own_items = align_references((text,)).items
        if own_items is not None and _compare_aligned(table, [reference], own_items).match is OutputMatch.SAME:
            return SAME
    shared = reduce(Counter.__and__, (all_fields(reference.rows) for reference in tables))
    missing = shared - all_fields(table.rows)
    if missing and not any(row.wild for row in table.rows):
        field = next(iter(missing))
        return OutputComparison(OutputMatch.DIFFERENT, f"lacks {shown(field)}, which every reference shows")
    return _unknown_item(table.rows, tables) or OutputComparison(OutputMatch.UNKNOWN, alignment.problem)


def _unknown_item(rows: Sequence[OutputRow], tables: Sequence[Table]) -> OutputComparison | None:
    if any(row.wild for reference in tables for row in reference.rows):
        return None
    known = {field for reference in tables for row in reference.rows for field in row.fields}
    for row in rows:
        if row.fields and known.isdisjoint(row.fields):
            sentence = f"line {row.line} is {shown(row.text)}, which no reference shows"
            return OutputComparison(OutputMatch.DIFFERENT, sentence, row.line)
    return None
