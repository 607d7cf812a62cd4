"""What a shell parser has to tell us, whichever parser it is: calls, their words, and the calls nested in
those.

Both readers (bashlex and tree-sitter) produce these records, so that nothing above them knows which one read
a command, and so that the two can be tested against each other.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MAX_CHARACTERS: Final = 16_384
"""Longest command read. The longest of the 12,607 commands of NL2Bash has 531; hostile text costs time that grows
with the square of its length."""

MAX_DEPTH: Final = 60
"""Deepest nesting read; Python's own stack ends near 1,000 frames, of which one level takes several."""


class UnreadableError(Exception):
    """The text is not a shell command, or is too long or too deep for this reader. Never leaves the room."""


class Word(NamedTuple):
    """One word of a call: its text with quotes removed, and the calls its substitutions make, in order."""

    text: str
    nested: tuple[Call, ...] = ()


class Call(NamedTuple):
    """One simple command: its words, then the calls in its assignments and redirections.

    `words` is empty where a command consists of assignments or redirections alone.
    """

    words: tuple[Word, ...]
    nested: tuple[Call, ...] = ()


_HERE_DOCUMENT: Final = "<<"
_PARENTHESIS: Final = re.compile(r"[()]")


def refuse_hostile(command: str) -> None:
    """Raise UnreadableError for text that would cost a reader its stack or seconds, before it sees any of it.

    Unclosed parentheses and here-documents are what tree-sitter's time explodes on (`a=(a=(a=(…`); none of the
    commands of NL2Bash comes near these limits. A command with NUL in it cannot be run at all.
    """
    if "\0" in command:
        raise UnreadableError("NUL in a command")
    if len(command) > MAX_CHARACTERS:
        raise UnreadableError(f"longer than {MAX_CHARACTERS} characters")
    if command.count(_HERE_DOCUMENT) > MAX_DEPTH:
        raise UnreadableError(f"more than {MAX_DEPTH} here-documents")
    depth = 0
    for parenthesis in _PARENTHESIS.findall(command):
        depth = depth + 1 if parenthesis == "(" else max(0, depth - 1)
        if depth > MAX_DEPTH:
            raise UnreadableError(f"nested deeper than {MAX_DEPTH}")
