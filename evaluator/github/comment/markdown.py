r"""Untrusted text in GitHub's Markdown: shown as it is, never interpreted.

All text that this project did not write goes into a code span. Inside one there is no markup, link, image, HTML or
formula, and GitHub resolves no mention, reference, address or emoji. Characters that could end the span, or look like
something else, are written as an escape, as by `printable`:

* controls, bidirectional and other formatting, unassigned and private characters, unusual spaces, blank letters,
  stacked accents, and letters of right-to-left scripts, because these would move the text beside them;
* blanks that Markdown or a browser would drop: the first, the last, and all but one of several together;
* long runs of backticks, because GitHub's parser reads no span with more than 80 and would treat all of it as markup;
* the bar in a table cell, because parsers disagree about a backslash before it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from evaluator.escaping import printable

LENGTH: Final = 240
"""The default length of a shown text in characters, counted with its escapes."""

_BACKTICKS: Final = 8
"""The longest run of backticks that is shown. A longer run is escaped."""
_MAX_ACCENTS: Final = 2
"""The maximum number of accents on one letter. Living scripts stack two."""
BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that count as printable but show nothing: Unicode's Default_Ignorable_Code_Point and the empty braille
pattern.
"""
_LEFTWARDS: Final = frozenset({"R", "AL", "AN"})
_LONG_RUN: Final = re.compile(f"`{{{_BACKTICKS + 1},}}")
_SPACES: Final = re.compile("^ +| +$|(?<= ) +")


def code(text: str, length: int = LENGTH) -> str:
    """Return a one-line code span of the text for prose and lists. A long text is cut, with a note after it.

    >>> print(code("a `quoted` word"), code("@somebody"), code(""))
    ``a `quoted` word`` `@somebody` (empty)
    """
    if not text:
        return "(empty)"
    return _span(*_escape_and_cut(text, length, in_table=False))


def cell(text: str, length: int = LENGTH) -> str:
    r"""Return the same as `code`, for a cell of a table.

    >>> print(cell("ls | wc"))
    `ls \x7c wc`
    """
    if not text:
        return "(empty)"
    return _span(*_escape_and_cut(text, length, in_table=True))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose cells are Markdown already. The first column is text and the others are numbers."""
    lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _span(shown: str, omitted: int) -> str:
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if shown.startswith("`") or shown.endswith("`") else ""
    more = f" … {omitted:,} more character{'s' * (omitted > 1)}" if omitted else ""
    return f"{fence}{padding}{shown}{padding}{fence}{more}"


def _escape_and_cut(text: str, length: int, *, in_table: bool) -> tuple[str, int]:
    """Return the escaped text and the number of characters left out."""
    escaped = _escape_all(text[: length + 1])
    if in_table:
        escaped = ["\\x7c" if character == "|" else character for character in escaped]
    size = used = 0
    for character in escaped:
        if used and size + len(character) > length:  # at least one: an empty span is no span
            break
        size, used = size + len(character), used + 1
    return "".join(escaped[:used]), len(text) - used


def _escape_all(text: str) -> list[str]:
    """Return each character, or its escape if it cannot be shown as it is."""
    written = [_visible(character) for character in text]
    accents = 0
    for index, character in enumerate(text):
        accents = accents + 1 if unicodedata.category(character) in ("Mn", "Me", "Mc") else 0
        if accents and (accents > _MAX_ACCENTS or accents > index):  # stacked, or without a letter before it
            written[index] = _escape(character)
    for pattern in (_SPACES, _LONG_RUN):
        for match in pattern.finditer(text):
            written[match.start() : match.end()] = map(_escape, match[0])
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
