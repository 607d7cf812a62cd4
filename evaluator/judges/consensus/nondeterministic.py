"""Find nondeterministic fields: fields that differ between two runs of one command. They are not compared.

A field is one word of one line, or one fact (the content of one path, the value of one variable). Fields are excluded
("masked") one by one. If the two outputs have different numbers of lines, no word is excluded. If nothing is left to
compare, the comparison is undecided.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from evaluator.judges.consensus.normalise import split_fields
from evaluator.records import Output, OutputMode


class Position(NamedTuple):
    """The position of a word in a text: its line and field, counted from 0.

    If the number of words in the line differs between two runs, `field` is None and means the whole line.
    """

    line: int
    field: int | None

    def __str__(self) -> str:
        """Return the position as text, with line and field numbers from 1."""
        return f"line {self.line + 1}" + ("" if self.field is None else f", field {self.field + 1}")


Positions = frozenset[Position]

NOTHING: Positions = frozenset()
"""The empty set of positions."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text to compare: standard output, standard error, or a file that the task lists in `text_files`.

    `digest` covers the full text, even if only a part is stored (`truncated`). `masked` holds the positions of the
    nondeterministic words. If `by_line` is true, a line is one field, because the instruction fixes the form of lines.
    """

    data: bytes
    digest: str
    truncated: bool = False
    masked: Positions = NOTHING
    by_line: bool = False


def text_of(output: Output, masked: Positions = NOTHING) -> Text:
    """Convert a recorded output stream to a `Text`. `masked` holds the positions of its nondeterministic words."""
    return Text(output.data, output.digest, output.truncated, masked)


def volatile_words(first: bytes, again: bytes, mode: OutputMode) -> Positions:
    """Return the positions of words that differ between the outputs of two runs of one command.

    In mode `set`, the order of lines does not count.
    """
    if first == again or mode is OutputMode.NONE:
        return NOTHING
    first_lines, again_lines = first.split(b"\n"), again.split(b"\n")
    if len(first_lines) != len(again_lines):
        return NOTHING
    pairs = list(zip(range(len(first_lines)), first_lines, again_lines, strict=True))
    if mode is OutputMode.SET:
        pairs = _pair_changed_lines(first_lines, again_lines)
    return frozenset(position for line, left, right in pairs for position in _changed_positions(line, left, right))


def _pair_changed_lines(first_lines: list[bytes], again_lines: list[bytes]) -> list[tuple[int, bytes, bytes]]:
    """Pair each line that only the first text has with a line that only the second text has.

    Both texts must have the same number of lines.
    """
    common = Counter(first_lines) & Counter(again_lines)
    left, right = _lines_without(first_lines, common), _lines_without(again_lines, common)
    return [(number, line, other) for (number, line), (_, other) in zip(left, right, strict=True)]


def _lines_without(lines: list[bytes], common: Counter[bytes]) -> list[tuple[int, bytes]]:
    remaining = common.copy()
    rest = []
    for number, line in enumerate(lines):
        if remaining[line] > 0:
            remaining[line] -= 1
        else:
            rest.append((number, line))
    return rest


def _changed_positions(line: int, left: bytes, right: bytes) -> list[Position]:
    if left == right:
        return []
    left_words, right_words = split_fields(left), split_fields(right)
    if len(left_words) != len(right_words):
        return [Position(line, None)]
    return [Position(line, field) for field, word in enumerate(left_words) if word != right_words[field]]


def masked_fields(masked: Positions) -> dict[int, frozenset[int | None]]:
    """Map the number of each masked line to the set of its masked fields. None in the set masks the whole line."""
    lines: dict[int, set[int | None]] = {}
    for line, field in masked:
        lines.setdefault(line, set()).add(field)
    return {line: frozenset(fields) for line, fields in lines.items()}


def unmasked_words(line: bytes, fields: frozenset[int | None]) -> list[bytes | None]:
    """Return the line's words, with None for each masked word. Return no words if the whole line is masked."""
    if None in fields:
        return []
    return [None if field in fields else word for field, word in enumerate(split_fields(line))]
