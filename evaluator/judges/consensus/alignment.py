"""Alignment of the references' rows: which rows show the same item, and which fields such rows must and may show.

Rows of two references are aligned by their shared fields, and rare fields count most. Two rows are paired only if each
is the single best partner of the other. A doubtful alignment would allow wrong fields, so it is rejected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Final, NamedTuple

from evaluator.judges.consensus.nondeterministic import Text
from evaluator.judges.consensus.rows import OutputRow, RowKey, Table, table_of
from evaluator.judges.reasons import reason, shown

_UNIT: Final = 10**12
"""Weight of a field that only two rows share. It is a whole number, so that equal scores compare equal."""

_COMMON: Final = 2_000
"""A field that more pairs of rows share says nothing about them and would cost time."""


class Item(NamedTuple):
    """The fields in the rows of one item: `core` in every reference, `known` in some. There are `times` such rows.

    Nondeterministic fields have no value to compare. A row must show at least `least_wild` and at most `wild` of them.
    """

    core: Counter[bytes]
    known: Counter[bytes]
    least_wild: int
    wild: int
    times: int
    text: bytes


class Alignment(NamedTuple):
    """The aligned items, or None and the reason why the references do not align."""

    items: tuple[Item, ...] | None
    problem: str = ""


@lru_cache(maxsize=256)
def align_references(references: tuple[Text, ...]) -> Alignment:
    """Align the rows of all references with the rows of the first reference that makes this possible.

    The result is cached, because every candidate of a task needs the same alignment.
    """
    tables = [table_of(text) for text in references]
    bags = [table.bags for table in tables]
    problem = _unreadable(tables)
    if problem:
        return Alignment(None, problem)
    for base in range(len(bags)):
        partners = [_align(bags[base], other) for other in bags]
        if None not in partners:
            return _items(bags[base], [partner for partner in partners if partner is not None])
        problem = problem or _explain(tables, base, partners.index(None))
    return Alignment(None, problem)


def _items(base: Mapping[RowKey, list[OutputRow]], partners: Sequence[Mapping[RowKey, RowKey]]) -> Alignment:
    items = []
    for bag, rows in base.items():
        seen = [partner[bag] for partner in partners]
        fields = [Counter(other.fields) for other in seen]
        core, known = reduce(Counter.__and__, fields), reduce(Counter.__or__, fields)
        if not core:
            place = f"line {rows[0].line}, {shown(rows[0].text)},"
            return Alignment(None, reason(f"no field of {place} is in every reference"))
        wild = [other.wild for other in seen]
        items.append(Item(core, known, min(wild), max(wild), len(rows), rows[0].text))
    return Alignment(tuple(items))


def _unreadable(references: Sequence[Table]) -> str:
    for number, table in enumerate(references, start=1):
        for row in table.rows:
            if not row.fields:
                return f"all of line {row.line} of reference {number} changes from run to run"
    return ""


def _explain(references: Sequence[Table], base: int, other: int) -> str:
    pair = f"references {base + 1} and {other + 1} do not align one to one"
    ours, theirs = len(references[base].rows), len(references[other].rows)
    if ours != theirs:
        return f"{pair}: {ours} rows against {theirs}"
    return f"{pair}: their rows share too few fields to tell which belong together"


def _align(
    left: Mapping[RowKey, list[OutputRow]], right: Mapping[RowKey, list[OutputRow]]
) -> dict[RowKey, RowKey] | None:
    """Map each left row key to its partner on the right, or return None if there is no one-to-one alignment."""
    if sum(map(len, left.values())) != sum(map(len, right.values())):
        return None
    pairs = {bag: bag for bag in left if bag.fields and bag in right}
    ours = [bag for bag in left if bag not in pairs]
    theirs = [bag for bag in right if bag not in pairs]
    while ours and theirs:
        found = _mutual_best(ours, theirs)
        if not found:
            return None
        pairs |= found
        taken = set(found.values())
        ours = [bag for bag in ours if bag not in found]
        theirs = [bag for bag in theirs if bag not in taken]
    complete = not ours and not theirs and all(len(left[bag]) == len(right[other]) for bag, other in pairs.items())
    return pairs if complete else None


def _mutual_best(left: Sequence[RowKey], right: Sequence[RowKey]) -> dict[RowKey, RowKey]:
    scores = _scores(left, right)
    best_right = {bag: _single_best(partners) for bag, partners in scores.items()}
    reverse: dict[RowKey, dict[RowKey, int]] = {}
    for bag, partners in scores.items():
        for partner, score in partners.items():
            reverse.setdefault(partner, {})[bag] = score
    best_left = {bag: _single_best(partners) for bag, partners in reverse.items()}
    return {bag: best for bag, best in best_right.items() if best is not None and best_left[best] == bag}


def _scores(left: Sequence[RowKey], right: Sequence[RowKey]) -> dict[RowKey, dict[RowKey, int]]:
    ours, theirs = _holders(left), _holders(right)
    scores: dict[RowKey, dict[RowKey, int]] = {}
    for field in ours.keys() & theirs.keys():
        pairs = len(ours[field]) * len(theirs[field])
        if pairs > _COMMON:
            continue
        for bag in ours[field]:
            row = scores.setdefault(bag, {})
            for other in theirs[field]:
                row[other] = row.get(other, 0) + _UNIT // pairs
    return scores


def _holders(bags: Collection[RowKey]) -> dict[bytes, list[RowKey]]:
    holders: dict[bytes, list[RowKey]] = {}
    for bag in bags:
        for field in set(bag.fields):
            holders.setdefault(field, []).append(bag)
    return holders


def _single_best(partners: Mapping[RowKey, int]) -> RowKey | None:
    best = max(partners.values())
    found = [partner for partner, score in partners.items() if score == best]
    return found[0] if len(found) == 1 else None
