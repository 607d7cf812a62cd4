"""The classification of invisible characters, and untrusted text made safe to print.

A reader must see every character of an untrusted text. Hidden are:

* controls, bidirectional and other formatting, surrogates, private and unassigned code points, and every separator
  but the space (`str.isprintable` is false for these);
* letters and selectors that show nothing;
* accents that are stacked, or that stand on no letter, because they are drawn over other text.

Each place where text is shown writes hidden characters out in its own way: a terminal here, a page in
`leaderboard/html_text.py`, a comment in `github/comment/markdown.py`, a prompt in `judges/panel/untrusted_data.py`.
Some hide more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that count as printable and show nothing: Unicode's Default_Ignorable_Code_Point, and the empty pattern
of braille."""
_ACCENTS: Final = frozenset({"Mn", "Me", "Mc"})
_MAX_ACCENTS: Final = 2
"""Accents that one letter may carry. Living scripts stack two. A third is drawn over other lines."""
_FIRST_ACCENT: Final = "\u0300"
"""Unicode has no accent and no blank letter before this character."""


def is_hidden(character: str) -> bool:
    """Return whether a reader cannot see a character, whatever stands beside it."""
    return not character.isprintable() or _BLANK.match(character) is not None


def classify(text: str) -> Iterator[tuple[str, bool]]:
    """Return every character of a text, and whether it is hidden or an accent too many."""
    accents = 0
    for position, character in enumerate(text):
        if character < _FIRST_ACCENT:
            accents = 0
            yield character, not character.isprintable()
        else:
            accents = accents + 1 if unicodedata.category(character) in _ACCENTS else 0
            yield character, accents > min(_MAX_ACCENTS, position) or is_hidden(character)


def visible(text: str, escape: Callable[[str], str]) -> str:
    """Return a text with every hidden character replaced by what `escape` returns for it."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(escape(character) if hidden else character for character, hidden in classify(text))


def printable(text: str) -> str:
    r"""Return a text for a terminal, a log or an annotation, with hidden characters as Python writes them.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return visible(text, python_escape)


def python_escape(character: str) -> str:
    r"""Return a character as an escape of Python, such as `\x1b` or `\u202e`."""
    return character.encode("unicode_escape", "surrogatepass").decode()
