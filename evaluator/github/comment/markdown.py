r"""A stranger's text in GitHub's Markdown: shown as it is, obeyed by nothing.

Whatever was not written here stands in a code span. In one there is no markup, link, picture, HTML or formula, and
GitHub looks for no mention, reference, address or emoji. What could end the span, or be seen as something else than it
is, is written out as an escape, as `printable` does it:

* controls, bidirectional and other formatting, unassigned and private characters, unusual spaces, letters that are
  blank, stacked accents, and letters that are written from right to left, as these would move what stands beside them;
* blanks that Markdown or a browser would drop: the first, the last, and more than one together;
* backticks where many stand together, as GitHub's parser knows no span of more than 80, and all of it would be markup;
* in a table's cell the bar, since parsers differ about what a backslash before it means.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from evaluator.escaping import printable

LENGTH: Final = 240
"""Characters of one text that are shown, as they are written out."""

_BACKTICKS: Final = 8
"""Together; a longer run is written out."""
_MAX_ACCENTS: Final = 2
"""Accents one letter may carry; living scripts stack two."""
BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that count as printable and show nothing (Unicode's Default_Ignorable_Code_Point, and the empty pattern
of braille)."""
_LEFTWARDS: Final = frozenset({"R", "AL", "AN"})
_LONG_RUN: Final = re.compile(f"`{{{_BACKTICKS + 1},}}")
_SPACES: Final = re.compile("^ +| +$|(?<= ) +")


def code(text: str, length: int = LENGTH) -> str:
    """A code span of the text on one line, for prose and lists; cut visibly where it is long.

    >>> print(code("a `quoted` word"), code("@somebody"), code(""))
    ``a `quoted` word`` `@somebody` (empty)
    """
    if not text:
        return "(empty)"
    return _span(*_written(text, length, cell=False))


def cell(text: str, length: int = LENGTH) -> str:
    r"""The same for a cell of a table.

    >>> print(cell("ls | wc"))
    `ls \x7c wc`
    """
    if not text:
        return "(empty)"
    return _span(*_written(text, length, cell=True))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; the first column is text, all others are numbers."""
    lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _span(shown: str, left: int) -> str:
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if shown.startswith("`") or shown.endswith("`") else ""
    more = f" … {left:,} more character{'s' * (left > 1)}" if left else ""
    return f"{fence}{padding}{shown}{padding}{fence}{more}"


def _written(text: str, length: int, *, cell: bool) -> tuple[str, int]:
    """The text as it is written, and how many of its characters are left out."""
    head = text[: length + 1]
    escaped = _escaped(head)
    if cell:
        escaped = ["\\x7c" if each == "|" else each for each in escaped]
    size = used = 0
    for each in escaped:
        if used and size + len(each) > length:  # one at least: a span of nothing is none
            break
        size, used = size + len(each), used + 1
    return "".join(escaped[:used]), len(text) - used


def _escaped(text: str) -> list[str]:
    """Every character as it is written, in order."""
    written = [_visible(character) for character in text]
    accents = 0
    for place, character in enumerate(text):
        accents = accents + 1 if unicodedata.category(character) in ("Mn", "Me", "Mc") else 0
        if accents and (accents > _MAX_ACCENTS or accents > place):  # stacked, or on no letter of this text
            written[place] = _escape(character)
    for pattern in (_SPACES, _LONG_RUN):
        for found in pattern.finditer(text):
            written[found.start() : found.end()] = [_escape(each) for each in found[0]]
    return written


def _visible(character: str) -> str:
    if BLANK.match(character) or unicodedata.bidirectional(character) in _LEFTWARDS:
        return _escape(character)
    return printable(character)


def _escape(character: str) -> str:
    code_point = ord(character)
    if code_point < 0x100:
        return f"\\x{code_point:02x}"
    return f"\\u{code_point:04x}" if code_point < 0x10000 else f"\\U{code_point:08x}"
