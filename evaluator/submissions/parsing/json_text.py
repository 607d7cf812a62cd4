"""Strict parser for one line of JSON. It reports every problem of the line.

Python's parser accepts equal keys (it uses the last value), NaN and integers of any length. Other parsers may read such
a file differently. Deeply nested values overflow the stack of Python's parser, and would stop the check.
"""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

from evaluator.submissions.messages import listed, quoted

LONGEST_INTEGER: Final = 18
"""Digits of the longest accepted integer. Every such integer fits in 64 bits, so later stages need no check."""

_LONG_INTEGER: Final = re.compile(rf"[0-9]{{{LONGEST_INTEGER + 1}}}")
"""Digits that may be those of a longer integer. Without them, the parser may read integers in C."""

_STRING_OR_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}]', re.DOTALL)
"""A bracket, or a string, which is the rest of the text if it is not closed. Each start is tried only once, so the time
stays linear.
"""

_HINTS: Final = {
    "Invalid \\": r"; write one backslash as two, \\",
    "Invalid control": r"; in a text write a new line as \n and a tab as \t",
}
"""Fixes of the most common errors in commands that are written into JSON by hand, by the start of Python's message."""


class JsonText(NamedTuple):
    """The value of a JSON text, and the problems in this text that did not prevent its parsing."""

    value: object
    faults: tuple[str, ...]


def read_json(text: str, nesting: int) -> JsonText:
    """Parse one JSON text. Raises ValueError for invalid text. The message of the error contains the column."""
    if _is_deeper(text, nesting):
        raise ValueError(f"arrays and objects nested more than {nesting} deep: expected a flat record")
    faults: list[str] = []

    def integer(digits: str) -> int:
        if len(digits) <= LONGEST_INTEGER + digits.startswith("-"):
            return int(digits)
        faults.append(f"integer {quoted(digits, 24)} of {len(digits)} digits: at most {LONGEST_INTEGER} are read")
        return 0

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(pairs)
        if len(members) < len(pairs):
            faults.append(f"given more than once in one object: {listed(_repeated(pairs))}; keep one of each")
        return members

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_int=integer if _LONG_INTEGER.search(text) else int)
    except json.JSONDecodeError as error:
        raise ValueError(_located(error)) from error
    return JsonText(value, tuple(faults))


def _located(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos : error.pos + 20]
    place = f"before {quoted(rest, 19)}" if rest else "at the end of the line"
    hint = next((hint for begin, hint in _HINTS.items() if error.msg.startswith(begin)), "")
    message = error.msg.removesuffix(" at").removesuffix(" starting")
    return f"broken JSON at column {error.colno}, {place}: {message[:1].lower()}{message[1:]}{hint}"


def _repeated(pairs: list[tuple[str, object]]) -> list[str]:
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for name, _ in pairs:
        if name in seen:
            twice[name] = None
        seen.add(name)
    return list(twice)


def _is_deeper(text: str, nesting: int) -> bool:
    """Return whether brackets in a JSON text are nested deeper than `nesting`. Stop at the first such bracket."""
    if text.count("[") + text.count("{") <= nesting:
        return False
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        piece = match[0]
        if piece in "[{":
            depth += 1
            if depth > nesting:
                return True
        elif piece in "]}":
            depth -= 1
    return False
