"""One line of JSON, read strictly and with every fault named.

The language's own reader takes the last of two equal keys, NaN, integers of any length and any depth until
its stack ends; each of those would make two readers of one file disagree, or let a file stop the checker.
"""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

from evaluator.submissions.messages import listed, quoted

LONGEST_INTEGER: Final = 18
"""Digits of the longest integer read: every one fits 64 bits, so no later stage has to think about it."""

_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
"""A string, to the end of the text where it is never closed: no start is tried twice, so time stays linear."""

_HINTS: Final = {
    "Invalid \\": r"; write one backslash as two, \\",
    "Invalid control": r"; in a text write a new line as \n and a tab as \t",
}
"""What mends the commonest slips of those who write commands into JSON by hand, by how the reader's words begin."""


class JsonText(NamedTuple):
    """A value and what is wrong with how it is written, though it could be read."""

    value: object
    faults: tuple[str, ...]


def read_json(text: str, nesting: int) -> JsonText:
    """Parse one JSON text. Raises ValueError, in a submitter's words and with the column, where it is broken."""
    if _depth(text, nesting) > nesting:
        raise ValueError(f"arrays and objects nested more than {nesting} deep: expected a flat record")
    faults: list[str] = []

    def integer(digits: str) -> int:
        if len(digits) <= LONGEST_INTEGER + digits.startswith("-"):
            return int(digits)
        faults.append(f"integer {quoted(digits, 24)} of {len(digits)} digits: at most {LONGEST_INTEGER} are read")
        return 0

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            faults.append(f"given more than once in one object: {listed(_repeated(pairs))}; keep one of each")
        return found

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_int=integer)
    except json.JSONDecodeError as error:
        raise ValueError(_located(error)) from error
    return JsonText(value, tuple(faults))


def _located(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos : error.pos + 20]
    place = f"before {quoted(rest, 19)}" if rest else "at the end of the line"
    hint = next((hint for begin, hint in _HINTS.items() if error.msg.startswith(begin)), "")
    said = error.msg.removesuffix(" at").removesuffix(" starting")
    return f"broken JSON at column {error.colno}, {place}: {said[:1].lower()}{said[1:]}{hint}"


def _repeated(pairs: list[tuple[str, object]]) -> list[str]:
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for name, _ in pairs:
        if name in seen:
            twice[name] = None
        seen.add(name)
    return list(twice)


def _depth(text: str, enough: int) -> int:
    """How deep brackets stand inside each other; counted only where there are enough of them to matter."""
    if text.count("[") + text.count("{") <= enough:
        return 0
    depth = deepest = 0
    for character in _STRING.sub("", text):
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest
