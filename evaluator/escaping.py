"""Functions that find hidden characters in untrusted text and replace them with visible escapes.

A reader must see every character of an untrusted text. These characters are hidden:

* control and formatting characters, surrogates, private and unassigned code points, and every separator except the
  space (`str.isprintable` is false for all of these);
* letters and variation selectors that are invisible;
* accents without a letter and too many accents on one letter, because a terminal draws them over other text.

This module escapes hidden characters for terminals. `leaderboard/html_text.py` escapes them for pages,
`github/comment/markdown.py` for comments, and `judges/panel/untrusted_data.py` for prompts. Some of these modules
escape more characters.
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
    """Return whether a character is hidden in every text. Such a character is invisible or not printable."""
    return not character.isprintable() or _BLANK.match(character) is not None


def classify(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each character of a text with a flag. The flag is true if readers do not see the character in this text."""
    accents = 0
    for position, character in enumerate(text):
        if character < _FIRST_ACCENT:
            accents = 0
            yield character, not character.isprintable()
        else:
            accents = accents + 1 if unicodedata.category(character) in _ACCENTS else 0
            yield character, accents > min(_MAX_ACCENTS, position) or is_hidden(character)


def visible(text: str, escape: Callable[[str], str]) -> str:
    """Return the text with the result of the function `escape` in place of each hidden character."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(escape(character) if hidden else character for character, hidden in classify(text))


def printable(text: str) -> str:
    r"""Return a text for a terminal, a log or an annotation, with Python escapes in place of hidden characters.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return visible(text, python_escape)


def python_escape(character: str) -> str:
    r"""Return the Python escape of a character, such as `\x1b` or `\u202e`."""
    return character.encode("unicode_escape", "surrogatepass").decode()
