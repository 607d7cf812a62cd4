r"""Functions that put untrusted text into GitHub's Markdown, so that GitHub shows the text literally.

All untrusted text goes into a code span. GitHub interprets no markup, link, image, HTML or formula inside a code span,
and resolves no mention, reference, address or emoji. An escape such as `\x60` replaces each character that could end
the span or look like something else:

* characters that `evaluator.escaping` classifies as hidden;
* letters of right-to-left scripts, because they would move the text beside them;
* blanks that Markdown or a browser would remove: blanks at the start, blanks at the end, and repeated blanks;
* long runs of backticks, because GitHub's parser treats a span with more than 80 backticks as markup;
* the character `|` in a table cell, because parsers treat a backslash before it in different ways.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from evaluator.escaping import classify, python_escape
from evaluator.wording import pluralize

LENGTH: Final = 240
"""The default length of a shown text in characters, counted with its escapes."""

_BACKTICKS: Final = 8
"""The longest run of backticks that is shown. A longer run is escaped."""
_LEFTWARDS: Final = frozenset({"R", "AL", "AN"})
_LONG_RUN: Final = re.compile(f"`{{{_BACKTICKS + 1},}}")
_SPACES: Final = re.compile("^ +|(?<! ) +$|(?<= ) +")


def code(text: str, length: int = LENGTH) -> str:
    """Return the text as a one-line code span. Cut a long text, and say how many characters are omitted.

    >>> print(code("a `quoted` word"), code("@somebody"), code(""))
    ``a `quoted` word`` `@somebody` (empty)
    """
    return _span(text, _escaped(text[: length + 1]), length)


def cell(text: str, length: int = LENGTH) -> str:
    r"""Return the text as a code span that is also safe in a table cell.

    >>> print(cell("ls | wc"))
    `ls \x7c wc`
    """
    return _span(text, ["\\x7c" if piece == "|" else piece for piece in _escaped(text[: length + 1])], length)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table. The first column holds text and is aligned left. All others are aligned right."""
    lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _span(text: str, escaped: Sequence[str], length: int) -> str:
    """Return the escaped text as a code span. Cut it at about `length` characters, and say how many are omitted."""
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
    """Return the characters of the text in order. Each unsafe character is replaced by its escape."""
    written = [
        python_escape(character) if hidden or unicodedata.bidirectional(character) in _LEFTWARDS else character
        for character, hidden in classify(text)
    ]
    for pattern in (_SPACES, _LONG_RUN):
        for match in pattern.finditer(text):
            written[match.start() : match.end()] = [f"\\x{ord(character):02x}" for character in match[0]]
    return written
