"""This module returns a text that matches a regular expression of `find -regex`.

The expression is not executed. The text takes the first alternative, the first character of each set, and the fewest
repetitions, except that an optional part is present once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

ANY: Final = "x"
"""The character for `.`, and for sets without a first character."""

_PART: Final = re.compile(r"\\.|\[\^?\]?(?:\[:\w+:\]|[^\]])*\]|.", re.DOTALL)
_CLASSES: Final = {"[:digit:]": "1", "[:space:]": " ", "[:upper:]": "A", "[:xdigit:]": "1", "[:punct:]": "-"}
_MOST_REPETITIONS: Final = 64


class NoExampleError(ValueError):
    """A regular expression is invalid, or has a part that this module does not know."""


def regex_example(pattern: str, *, extended: bool) -> str:
    """Return a text that matches a pattern. In a pattern that is not extended, `\\(`, `\\|` and `\\{` are operators.

    Raises NoExampleError if the pattern is not understood.
    """
    parts = [_operator(part, extended) for part in _PART.findall(pattern)]
    text, rest = _alternatives(parts)
    if rest:
        raise NoExampleError(f"unexpected {rest[0]} in {pattern}")
    return text


def _operator(part: str, extended: bool) -> str:
    """Return a part in one notation for both kinds of patterns: operators as `op:(`, and other characters plain."""
    if part[0] == "\\" and len(part) == 2:
        return f"op:{part[1]}" if not extended and part[1] in "(){}|" else part[1]
    if part in "*+?" or (extended and part in "(){}|"):
        return f"op:{part}"
    if part in "^$":
        return ""
    return ANY if part == "." else part


def _alternatives(parts: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return an example of the first alternative, and the parts after the last one."""
    text, parts = _sequence(parts)
    while parts and parts[0] == "op:|":
        _, parts = _sequence(parts[1:])
    return text, parts


def _sequence(parts: Sequence[str]) -> tuple[str, Sequence[str]]:
    texts: list[str] = []
    while parts and parts[0] not in ("op:|", "op:)"):
        part, parts = parts[0], parts[1:]
        if part == "op:(":
            text, parts = _alternatives(parts)
            if parts[:1] != ["op:)"]:
                raise NoExampleError("a group without an end")
            parts = parts[1:]
        elif part.startswith("op:"):
            raise NoExampleError(f"unexpected {part[3:]}")
        else:
            text = _of_set(part) if part[:1] == "[" and len(part) > 1 else part
        times, parts = _repetitions(parts)
        texts.append(text * times)
    return "".join(texts), parts


def _of_set(part: str) -> str:
    if part[1] == "^":
        return next(letter for letter in "z_5 " if letter not in part)
    inner = part[1:-1]
    return next((letter for name, letter in _CLASSES.items() if inner.startswith(name)), inner[:1].replace("[", ANY))


def _repetitions(parts: Sequence[str]) -> tuple[int, Sequence[str]]:
    if parts and parts[0] in ("op:*", "op:+", "op:?"):
        return 1, parts[1:]
    if not parts or parts[0] != "op:{":
        return 1, parts
    end = next((index for index, part in enumerate(parts) if part == "op:}"), 0)
    least = "".join(parts[1:end]).partition(",")[0]
    if not least.isdecimal():
        raise NoExampleError("a repetition without a number")
    return min(int(least), _MOST_REPETITIONS), parts[end + 1 :]
