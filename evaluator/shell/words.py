"""Remove quotes from the words of a command, as the shell does.

The readers of commands pass the source of each word to this module, because neither of their parsers removes quotes
correctly. bashlex drops every backslash between double quotes (`"%p\\n"` becomes `%pn`), and tree-sitter removes no
quotes at all.
"""

from __future__ import annotations

import re
from typing import Final

_PIECE: Final = re.compile(
    r"""
      \\(?P<escaped>.?)                    # outside quotes a backslash keeps the next character
    | \$'(?P<ansi>(?:\\.|[^'\\])*)'
    | '(?P<single>[^']*)'
    | (?P<quote>\$?")
    | (?P<substitution>\$\(|`)
    | (?P<plain>[^\\'"$`]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ANSI: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_ANSI_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)


def remove_quotes(source: str) -> str:
    """Remove the quotes from a word. Expansions and command substitutions inside the word stay unchanged."""
    pieces: list[str] = []
    at = 0
    while piece := _PIECE.match(source, at):
        at = piece.end()
        match piece.lastgroup:
            case "escaped":
                pieces.append(piece["escaped"].strip("\n"))
            case "ansi":
                pieces.append(_ANSI_ESCAPE.sub(lambda escape: _ANSI.get(escape[1], escape[1]), piece["ansi"]))
            case "quote":
                at = _double_quoted(source, at, pieces)
            case "substitution":
                at = _end_of_substitution(source, piece.start())
                pieces.append(source[piece.start() : at])
            case name:
                pieces.append(piece[name or "plain"])
        if at >= len(source):
            break
    return "".join(pieces)


def _double_quoted(source: str, at: int, pieces: list[str]) -> int:
    """Add the double-quoted text that begins at `at` to `pieces`. Return the position after the closing quote."""
    while at < len(source) and source[at] != '"':
        if source[at] == "\\" and source[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
            pieces.append(source[at + 1].strip("\n"))
            at += 2
        elif source[at] == "`" or source.startswith("$(", at):
            end = _end_of_substitution(source, at)
            pieces.append(source[at:end])
            at = end
        else:
            pieces.append(source[at])
            at += 1
    return at + 1


def _end_of_substitution(source: str, at: int) -> int:
    """Return the position after the substitution that begins at `at`. If it does not end, return the text's length."""
    if source[at] == "`":
        end = source.find("`", at + 1)
        return len(source) if end < 0 else end + 1
    depth = 0
    for position in range(at, len(source)):
        depth += {"(": 1, ")": -1}.get(source[position], 0)
        if source[position] == ")" and depth == 0:
            return position + 1
    return len(source)
