"""Tell the code of a command from its strings, comments and here-documents, for warnings only.

The scanner is no parser of Bash. It reads any text, prose included, in a time that is proportional to the length of the
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

CODE: Final = "c"
ESCAPE: Final = "Ee"
"""The roles of a backslash and of the character behind it."""
QUOTED: Final = "q"
COMMENT: Final = "#"
DOCUMENT: Final = "h"
NOT_CODE: Final = "\0"
"""The character that replaces every character of a string, a comment or a here-document in `CommandParts.code`."""

_CODE_TOKEN: Final = re.compile(
    r"""
    (?P<escape>\\.)
    | (?<=[A-Za-z])'(?:s|t|re|ve|ll|d|m)(?=[\s.,;:!?)]|\Z)
    | (?P<quoted>\$'(?:[^'\\]|\\.)*+' | '[^']*+')
    | (?P<unclosed>')
    | (?P<double>")
    | &\#[xX]?+[0-9a-fA-F]{1,6};
    | (?P<comment>(?<![^\s;|&(])\#[^\n]*+)
    | \(\((?:[^()\n]|\([^()\n]*+\))*+\)\)
    | (?P<open>\() | (?P<close>\))
    | <<<
    | (?P<document><<-?[ \t]*+(?P<delimiter>(?!\d++(?:\s|\Z))(?:'[^'\n]*+'|"[^"\n]*+"|\\?[^\s;|&<>()'"\\])++))
    | (?P<newline>\n)
    """,
    re.VERBOSE | re.DOTALL,
)
"""An apostrophe in a word, as in `Here's a command`, opens no string, so that prose hides nothing."""

_STRING_TOKEN: Final = re.compile(r'(?P<escape>\\.)|(?P<double>")|(?P<open>\$\((?!\())', re.DOTALL)


@dataclass(frozen=True, slots=True)
class CommandParts:
    """The role of each character in a command.

    `roles` has one letter per character. `code` is the command with NUL in place of what is no code. `open_document` is
    the delimiter of the first here-document without an end, or None.
    """

    text: str
    roles: str
    code: str
    open_document: str | None

    def escapes(self, letter: str) -> list[int]:
        """Return the positions of each backslash that stands in code before `letter`."""
        return [each for each in _places(self.text, f"\\{letter}") if self.roles.startswith(ESCAPE, each)]


def read_parts(text: str) -> CommandParts:
    """Return the parts of a command. A string that is not closed counts as code, as in a text that is no command."""
    scanner = _Scanner(text)
    roles = scanner.scan()
    code = "".join(
        character if role in CODE + ESCAPE else NOT_CODE for character, role in zip(text, roles, strict=True)
    )
    return CommandParts(text, roles, code, scanner.open_document)


def _places(text: str, part: str) -> Iterator[int]:
    position = text.find(part)
    while position >= 0:
        yield position
        position = text.find(part, position + 1)


class _Scanner:
    """A pass over a command that notes the role of each character.

    `_open` holds what is open, from the outermost: `(` and `"`. `_string` is the number of noted pieces before the
    outermost string. `_waiting` holds the here-documents whose bodies follow the next end of a line.
    """

    def __init__(self, text: str) -> None:
        self.open_document: str | None = None
        self._text = text
        self._roles: list[str] = []
        self._open: list[str] = []
        self._string = 0
        self._waiting: list[re.Match[str]] = []

    def scan(self) -> str:
        """Return one letter for the role of each character."""
        position = 0
        while token := (_STRING_TOKEN if self._in_string else _CODE_TOKEN).search(self._text, position):
            self._roles.append(self._role * (token.start() - position))
            position = token.end()
            if token.lastgroup == "unclosed":
                break
            self._note(token)
            if token.lastgroup == "newline" and self._waiting:
                position = self._skip_documents(position)
        if self._waiting:
            self._skip_documents(len(self._text))
        if '"' in self._open:
            del self._roles[self._string :]
        return "".join(self._roles).ljust(len(self._text), CODE)

    @property
    def _in_string(self) -> bool:
        return self._open[-1:] == ['"']

    @property
    def _role(self) -> str:
        return QUOTED if self._in_string else CODE

    def _note(self, token: re.Match[str]) -> None:
        role = self._role * len(token[0])
        match token.lastgroup:
            case "escape" if not self._in_string:
                role = ESCAPE
            case "quoted":
                role = QUOTED * len(token[0])
            case "comment":
                role = COMMENT * len(token[0])
            case "double":
                role = QUOTED
                self._toggle_string()
            case "open":
                self._open.append("(")
            case "close" if self._open[-1:] == ["("]:
                self._open.pop()
                role = self._role
        if token.lastgroup in {"document", "delimiter"}:
            self._waiting.append(token)
        self._roles.append(role)

    def _toggle_string(self) -> None:
        if self._in_string:
            self._open.pop()
            return
        if '"' not in self._open:
            self._string = len(self._roles)
        self._open.append('"')

    def _skip_documents(self, position: int) -> int:
        """Note the bodies of the waiting here-documents, and return where they end."""
        begin = position
        for token in self._waiting:
            delimiter = re.sub(r"['\"\\]", "", token["delimiter"])
            while position < len(self._text):
                end = self._text.find("\n", position)
                line = self._text[position : end if end >= 0 else len(self._text)]
                position += len(line) + (end >= 0)
                if (line.lstrip("\t") if token["document"].startswith("<<-") else line).rstrip("\r") == delimiter:
                    break
            else:
                self.open_document = self.open_document or delimiter
        self._waiting = []
        self._roles.append(DOCUMENT * (position - begin))
        return position
