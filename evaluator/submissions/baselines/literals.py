"""This module finds the literals of an instruction (paths, quoted text, numbers, names) and puts them into a command.

The retrieval baseline copies the command of a similar training instruction. In this command, a literal of the new
instruction replaces each literal of the training instruction. For example, the second path of the new instruction
replaces the second path of the training instruction.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple


class LiteralKind(StrEnum):
    """The kind of a literal in an instruction. To compare instructions, each literal is replaced by its kind's name."""

    QUOTED = "QUOTED"
    PATH = "PATH"
    FILE = "FILE"
    EXTENSION = "EXTENSION"
    MODE = "MODE"
    NUMBER = "NUMBER"
    CAPITALS = "CAPITALS"
    NAME = "NAME"


class Literal(NamedTuple):
    """A literal of an instruction (a path or a number, for example) without quotes, with its kind and position."""

    kind: LiteralKind
    text: str
    start: int
    end: int


_LITERAL: Final = re.compile(
    r"""
    (?<!\w)(?P<mark>["'`])(?P<QUOTED>(?:(?!(?P=mark)).)+)(?P=mark)(?!\w)
    | (?<![\w.])(?P<PATH>(?:~|\.{1,2})?/[\w./*+-]*[\w*/] | (?:[\w.-]+/)+[\w.*-]*[\w*] | (?:[\w.-]+/)+)
    | (?<![\w.])(?P<FILE>[\w*?-]+(?:\.[\w*-]+)*\.[A-Za-z]\w*)
    | (?<![\w.])(?P<EXTENSION>\.[A-Za-z]\w{0,5})\b
    | \b(?:mode|permissions?)\s+(?P<MODE>[0-7]{3,4})\b
    | (?<![\w.])(?P<NUMBER>\d+)(?![\w.]*/)
    | \b(?P<CAPITALS>[A-Z][A-Z_]{2,})\b
    | \b(?:users?|groups?|owned\s+by|named|called|directory|folder|process|variable|package|host|service)\s+
      (?P<NAME>(?!(?:is|are|and|or|that|which|with|to|in|of|the|a|an|by|for|from|whose|recursively|into)\b)
      [A-Za-z_][\w.-]*\w)
    """,
    re.VERBOSE,
)


def find_literals(instruction: str) -> list[Literal]:
    """Return the literals of an instruction from left to right."""
    literals: list[Literal] = []
    for match in _LITERAL.finditer(instruction):
        kind = next(kind for kind in LiteralKind if match[kind.value] is not None)
        literals.append(Literal(kind, match[kind.value], *match.span(kind.value)))
    return literals


def mask_literals(instruction: str) -> str:
    """Replace each literal of an instruction with the name of its kind, so that only the intent remains."""
    pieces: list[str] = []
    end = 0
    for literal in find_literals(instruction):
        pieces += [instruction[end : literal.start], literal.kind]
        end = literal.end
    return "".join([*pieces, instruction[end:]])


def transfer_literals(command: str, source: str, target: str) -> str:
    """Replace the literals of the instruction `source` in a command by literals of the instruction `target`."""
    present = [literal for literal in find_literals(source) if _word(literal.text).search(command)]
    replacements = _pair(present, find_literals(target))
    if not replacements:
        return command
    longest_first = sorted(replacements, key=lambda text: (-len(text), text))
    words = re.compile("|".join(_word(text).pattern for text in longest_first))
    return words.sub(lambda match: _replacement(match, replacements), command)


def _replacement(match: re.Match[str], replacements: Mapping[str, str]) -> str:
    before = match.string[: match.start()]
    names_a_utility = re.search(r"(?:^|[|;&(])\s*$", before)
    return match[0] if names_a_utility else _in_place(replacements[match[0]], before)


def _pair(sources: Sequence[Literal], targets: Sequence[Literal]) -> Mapping[str, str]:
    """Map each source literal to a target literal of the same kind: the first path to the first path, and so on."""
    of_kind: dict[LiteralKind, list[str]] = defaultdict(list)
    for literal in targets:
        of_kind[literal.kind].append(literal.text)
    used: dict[LiteralKind, int] = defaultdict(int)
    replacements: dict[str, str] = {}
    for literal in sources:
        if literal.text not in replacements and used[literal.kind] < len(of_kind[literal.kind]):
            replacements[literal.text] = of_kind[literal.kind][used[literal.kind]]
            used[literal.kind] += 1
    return replacements


def _word(text: str) -> re.Pattern[str]:
    before = r"(?<!\w)" if text[:1].isalpha() or text[:1] == "_" else r"(?<!\d)" if text[:1].isdigit() else ""
    after = r"(?![A-Za-z_0-9])" if text[-1:].isalpha() else r"(?!\d)" if text[-1:].isdigit() else ""
    return re.compile(before + re.escape(text) + after)


def _in_place(text: str, before: str) -> str:
    """Escape a literal that is appended to `before`, the beginning of a command. A quote may be open there."""
    match _open_quote(before):
        case "'":
            return text.replace("'", "'\\''")
        case '"':
            return re.sub(r'([\\"$`])', r"\\\1", text)
        case _:
            globbing = re.fullmatch(r"[\w./~*?+:=@%,-]+", text)
            return text if globbing else shlex.quote(text)


def _open_quote(before: str) -> str:
    quote = ""
    escaped = False
    for character in before:
        if escaped:
            escaped = False
        elif character == "\\" and quote != "'":
            escaped = True
        elif character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
    return quote
