"""Fields that change from run to run of one command, found from its two runs, and how they are masked.

A field is one word of one line, or one fact (the content of one path, the value of one variable). Never a
whole dimension: where two outputs have different numbers of lines nothing is masked, and where masking
leaves nothing to compare the comparison is said to tell nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from evaluator.judges.consensus.normalise import split_fields
from evaluator.records import Output, OutputMode


class Position(NamedTuple):
    """A word of a text: line and field, both from 0. `field` is None where the line's number of words changes."""

    line: int
    field: int | None

    def __str__(self) -> str:
        """The place as people count."""
        return f"line {self.line + 1}" + ("" if self.field is None else f", field {self.field + 1}")


Positions = frozenset[Position]

NOTHING: Positions = frozenset()
"""No position at all."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text to compare: standard output, standard error, or a file that the task lists.

    `digest` names all of it, also where only a part is kept (`truncated`); `masked` are its volatile words.
    """

    data: bytes
    digest: str
    truncated: bool = False
    masked: Positions = NOTHING


def text_of(output: Output, masked: Positions = NOTHING) -> Text:
    """A stream as a text."""
    return Text(output.data, output.digest, output.truncated, masked)


def volatile_words(first: bytes, again: bytes, mode: OutputMode) -> Positions:
    """Words of the first text that the second does not repeat. For a set, lines are paired whatever their order."""
    if first == again or mode is OutputMode.NONE:
        return NOTHING
    ours, theirs = first.split(b"\n"), again.split(b"\n")
    if len(ours) != len(theirs):
        return NOTHING
    pairs = list(zip(range(len(ours)), ours, theirs, strict=True))
    if mode is OutputMode.SET:
        pairs = _unpaired(ours, theirs)
    return frozenset(position for line, left, right in pairs for position in _changed(line, left, right))


def _unpaired(ours: list[bytes], theirs: list[bytes]) -> list[tuple[int, bytes, bytes]]:
    """Lines that only one of two equally long texts has, paired in their order."""
    common = Counter(ours) & Counter(theirs)
    left, right = _without(ours, common), _without(theirs, common)
    return [(number, line, other) for (number, line), (_, other) in zip(left, right, strict=True)]


def _without(lines: list[bytes], common: Counter[bytes]) -> list[tuple[int, bytes]]:
    left = common.copy()
    rest = []
    for number, line in enumerate(lines):
        if left[line] > 0:
            left[line] -= 1
        else:
            rest.append((number, line))
    return rest


def _changed(line: int, left: bytes, right: bytes) -> list[Position]:
    if left == right:
        return []
    ours, theirs = split_fields(left), split_fields(right)
    if len(ours) != len(theirs):
        return [Position(line, None)]
    return [Position(line, field) for field, word in enumerate(ours) if word != theirs[field]]


def masked_fields(masked: Positions) -> dict[int, frozenset[int | None]]:
    """The masked fields of each line that has any."""
    lines: dict[int, set[int | None]] = {}
    for line, field in masked:
        lines.setdefault(line, set()).add(field)
    return {line: frozenset(fields) for line, fields in lines.items()}


def unmasked_words(line: bytes, fields: frozenset[int | None]) -> list[bytes | None]:
    """The line's words with None for each masked one; no word at all where the whole line is masked."""
    if None in fields:
        return []
    return [None if field in fields else word for field, word in enumerate(split_fields(line))]
