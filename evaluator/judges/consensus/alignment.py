"""Align the output rows of a task's references: find the rows that show the same item, such as one file.

The more fields two rows share, the better they match. A field that occurs in few rows counts more than a common field.
Two rows of different references form a pair if no other row matches either of them equally well or better. If some rows
stay without a pair, the alignment is rejected, because a guessed pair could let the judge accept wrong fields.
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
    """One item of the references' output, such as one file. All references show its `core` fields.

    At least one reference shows each `known` field. The item occurs in `times` rows of each reference. The values of
    nondeterministic fields are not compared. Only the number of these fields in a row is compared: it must be between
    `least_wild` and `wild`.
    """

    core: Counter[bytes]
    known: Counter[bytes]
    least_wild: int
    wild: int
    times: int
    text: bytes


class Alignment(NamedTuple):
    """The items that the aligned rows of the references show.

    If the references cannot be aligned, `items` is None and `problem` gives the reason.
    """

    items: tuple[Item, ...] | None
    problem: str = ""


@lru_cache(maxsize=256)
def align_references(references: tuple[Text, ...]) -> Alignment:
    """Align the rows of all references with the rows of one of them: the first one for which this is possible.

    The result is cached, because the judge needs the same alignment for every candidate of a task.
    """
    tables = [table_of(text) for text in references]
    rows_by_key = [table.by_key for table in tables]
    problem = _line_without_fields(tables)
    if problem:
        return Alignment(None, problem)
    for base in range(len(rows_by_key)):
        partners = [_align(rows_by_key[base], other) for other in rows_by_key]
        if None not in partners:
            return _items(rows_by_key[base], [partner for partner in partners if partner is not None])
        problem = problem or _misalignment(tables, base, partners.index(None))
    return Alignment(None, problem)


def _items(base: Mapping[RowKey, list[OutputRow]], partners: Sequence[Mapping[RowKey, RowKey]]) -> Alignment:
    items = []
    for key, rows in base.items():
        partner_keys = [partner[key] for partner in partners]
        fields = [Counter(partner_key.fields) for partner_key in partner_keys]
        core, known = reduce(Counter.__and__, fields), reduce(Counter.__or__, fields)
        if not core:
            row_label = f"line {rows[0].line}, {shown(rows[0].text)},"
            return Alignment(None, reason(f"no field of {row_label} is in every reference"))
        wild = [partner_key.wild for partner_key in partner_keys]
        items.append(Item(core, known, min(wild), max(wild), len(rows), rows[0].text))
    return Alignment(tuple(items))


def _line_without_fields(references: Sequence[Table]) -> str:
    for number, table in enumerate(references, start=1):
        for row in table.rows:
            if not row.fields:
                return f"all of line {row.line} of reference {number} changes from run to run"
    return ""


def _misalignment(references: Sequence[Table], base: int, other: int) -> str:
    pair = f"references {base + 1} and {other + 1} do not align one to one"
    base_rows, other_rows = len(references[base].rows), len(references[other].rows)
    if base_rows != other_rows:
        return f"{pair}: {base_rows} rows against {other_rows}"
    return f"{pair}: their rows share too few fields to be paired"


def _align(
    left: Mapping[RowKey, list[OutputRow]], right: Mapping[RowKey, list[OutputRow]]
) -> dict[RowKey, RowKey] | None:
    """Map each row of `left` to the row of `right` that shows the same item. Return None if not all rows form pairs."""
    if sum(map(len, left.values())) != sum(map(len, right.values())):
        return None
    pairs = {key: key for key in left if key.fields and key in right}
    unpaired_left = [key for key in left if key not in pairs]
    unpaired_right = [key for key in right if key not in pairs]
    while unpaired_left and unpaired_right:
        new_pairs = _mutual_best(unpaired_left, unpaired_right)
        if not new_pairs:
            return None
        pairs |= new_pairs
        paired_right = set(new_pairs.values())
        unpaired_left = [key for key in unpaired_left if key not in new_pairs]
        unpaired_right = [key for key in unpaired_right if key not in paired_right]
    if unpaired_left or unpaired_right:
        return None
    return pairs if all(len(left[key]) == len(right[partner]) for key, partner in pairs.items()) else None


def _mutual_best(left: Sequence[RowKey], right: Sequence[RowKey]) -> dict[RowKey, RowKey]:
    scores = _scores(left, right)
    best_right = {key: _single_best(partners) for key, partners in scores.items()}
    reverse: dict[RowKey, dict[RowKey, int]] = {}
    for key, partners in scores.items():
        for partner, score in partners.items():
            reverse.setdefault(partner, {})[key] = score
    best_left = {key: _single_best(partners) for key, partners in reverse.items()}
    return {key: best for key, best in best_right.items() if best is not None and best_left[best] == key}


def _scores(left: Sequence[RowKey], right: Sequence[RowKey]) -> dict[RowKey, dict[RowKey, int]]:
    left_by_field, right_by_field = _keys_by_field(left), _keys_by_field(right)
    scores: dict[RowKey, dict[RowKey, int]] = {}
    for field in left_by_field.keys() & right_by_field.keys():
        pairs = len(left_by_field[field]) * len(right_by_field[field])
        if pairs > _COMMON:
            continue
        for key in left_by_field[field]:
            partner_scores = scores.setdefault(key, {})
            for partner in right_by_field[field]:
                partner_scores[partner] = partner_scores.get(partner, 0) + _UNIT // pairs
    return scores


def _keys_by_field(keys: Collection[RowKey]) -> dict[bytes, list[RowKey]]:
    by_field: dict[bytes, list[RowKey]] = {}
    for key in keys:
        for field in set(key.fields):
            by_field.setdefault(field, []).append(key)
    return by_field


def _single_best(partners: Mapping[RowKey, int]) -> RowKey | None:
    best = max(partners.values())
    leaders = [partner for partner, score in partners.items() if score == best]
    return leaders[0] if len(leaders) == 1 else None
