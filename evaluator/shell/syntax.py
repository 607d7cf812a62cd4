"""Define the common output of the shell parsers: calls of utilities, their words, and the calls nested in the words.

The readers that use the parsers bashlex and tree-sitter both return these types. So code that calls a reader does not
depend on its parser, and tests can compare the two readers.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MAX_CHARACTERS: Final = 16_384
"""Maximum length of a command, in characters. The longest of the 12,607 commands of NL2Bash has 531. Reading hostile
text takes time that grows with the square of its length."""

MAX_DEPTH: Final = 60
"""Maximum nesting depth. Python's own stack ends near 1,000 frames, and one level takes several of them."""


class UnreadableError(Exception):
    """A text is not a shell command, is too long or is nested too deeply. `evaluator.shell` catches this error.

    `expected` is what Bash expects at the character `position` from 0, or "" if Bash may be able to read the text.
    """

    def __init__(self, message: object, expected: str = "", position: int = 0) -> None:
        super().__init__(message)
        self.expected, self.position = expected, position


class Word(NamedTuple):
    """One word of a call: its text without quotes, and the calls in its command substitutions from left to right."""

    text: str
    nested: tuple[Call, ...] = ()


class Call(NamedTuple):
    """One simple command: its words, and the calls nested in its assignments and redirections.

    `words` is empty if a command consists only of assignments or redirections.
    """

    words: tuple[Word, ...]
    nested: tuple[Call, ...] = ()


_HERE_DOCUMENT: Final = "<<"
_PIPE: Final = "|"
_MAX_PIPES: Final = 1000
_PARENTHESIS: Final = re.compile(r"[()]")


def refuse_long(command: str) -> None:
    """Raise UnreadableError if a command is too long, or has a NUL character, because bash cannot run it then."""
    if "\0" in command:
        raise UnreadableError("NUL in a command")
    if len(command) > MAX_CHARACTERS:
        raise UnreadableError(f"longer than {MAX_CHARACTERS} characters")


def refuse_hostile(command: str) -> None:
    """Raise UnreadableError if a command could overflow the stack of bashlex or take seconds to parse.

    bashlex becomes very slow if a command has many unclosed parentheses (`a=(a=(a=(…`), here-documents or pipes.
    All commands of NL2Bash are far below the limits of this function. `bash_parser` needs no such limits.
    """
    refuse_long(command)
    if command.count(_HERE_DOCUMENT) > MAX_DEPTH:
        raise UnreadableError(f"more than {MAX_DEPTH} here-documents")
    if command.count(_PIPE) > _MAX_PIPES:
        raise UnreadableError(f"more than {_MAX_PIPES} pipes")
    depth = 0
    for parenthesis in _PARENTHESIS.findall(command):
        depth = depth + 1 if parenthesis == "(" else max(0, depth - 1)
        if depth > MAX_DEPTH:
            raise UnreadableError(f"nested deeper than {MAX_DEPTH}")
