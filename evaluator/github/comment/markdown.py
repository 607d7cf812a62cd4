r"""Untrusted text in GitHub's Markdown: shown as it is, and never markup.

A text stands in a code span, where GitHub knows no markup, link, picture, HTML, formula, mention, reference, address
or emoji. An escape such as `\x60` stands for every character that could end the span or look like something else:

* what `evaluator.escaping` hides;
* letters that are written from right to left, because they would move the text beside them;
* blanks that Markdown or a browser would drop: the first, the last, and more than one together;
* backticks if many stand together, because GitHub's parser knows no span with more than 80 and would read all of it
  as markup;
* the bar in a table's cell, because parsers differ in what a backslash before it means.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from evaluator.escaping import classify, python_escape
from evaluator.wording import pluralize

LENGTH: Final = 240
"""Characters of one text that are shown, counted with their escapes."""

_BACKTICKS: Final = 8
"""Longest run of backticks that is shown. Longer runs are escaped."""
_LEFTWARDS: Final = frozenset({"R", "AL", "AN"})
_LONG_RUN: Final = re.compile(f"`{{{_BACKTICKS + 1},}}")
_SPACES: Final = re.compile("^ +| +$|(?<= ) +")


def code(text: str, length: int = LENGTH) -> str:
    """Return a code span of a text on one line, for prose and lists. A long text is cut visibly.

    >>> print(code("a `quoted` word"), code("@somebody"), code(""))
    ``a `quoted` word`` `@somebody` (empty)
    """
    return _span(text, _escaped(text[: length + 1]), length)


def cell(text: str, length: int = LENGTH) -> str:
    r"""Return the same for a cell of a table.

    >>> print(cell("ls | wc"))
    `ls \x7c wc`
    """
    return _span(text, ["\\x7c" if piece == "|" else piece for piece in _escaped(text[: length + 1])], length)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already. The first column is text, all others are numbers."""
    lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _span(text: str, escaped: Sequence[str], length: int) -> str:
    """Return a span of as many escaped characters as fit `length`, and the number of those left out."""
    if not text:
        return "(empty)"
    size = used = 0
    for piece in escaped:
        if used and size + len(piece) > length:  # at least one, because Markdown knows no empty span
            break
        size, used = size + len(piece), used + 1
    shown, left = "".join(escaped[:used]), len(text) - used
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if shown.startswith("`") or shown.endswith("`") else ""
    more = f" … {pluralize(left, 'more character')}" if left else ""
    return f"{fence}{padding}{shown}{padding}{fence}{more}"


def _escaped(text: str) -> list[str]:
    """Return every character of a text as it is written, in order."""
    written = [
        python_escape(character) if hidden or unicodedata.bidirectional(character) in _LEFTWARDS else character
        for character, hidden in classify(text)
    ]
    for pattern in (_SPACES, _LONG_RUN):
        for match in pattern.finditer(text):
            written[match.start() : match.end()] = [f"\\x{ord(character):02x}" for character in match[0]]
    return written
