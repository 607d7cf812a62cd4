"""Words of messages: a submitter's text made safe to print, and the name they may have meant.

Messages end in terminals, logs and pull-request annotations. Everything quoted from a submission passes
through `printable`, so no control sequence and no bidirectional override of an author's reaches any of them.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable

from evaluator.escaping import printable

QUOTED_LENGTH = 60
"""Longest quotation in a message, in characters before escaping."""


def quoted(text: str, length: int = QUOTED_LENGTH) -> str:
    """The text in single quotes, escaped, and cut visibly after `length` characters."""
    cut = f"{printable(text[:length])}'…" if len(text) > length else f"{printable(text)}'"
    return f"'{cut}"


def described(value: object) -> str:
    """What stands where something else was expected, in JSON's words; never a container's contents."""
    match value:
        case str():
            return quoted(value)
        case None:
            return "null"
        case bool() | int() | float():
            return printable(json.dumps(value))[:QUOTED_LENGTH]
        case list() | tuple():
            return f"an array of {len(value)}" if value else "an empty array"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def nearest(name: str, names: Iterable[str]) -> str:
    """`; did you mean 'x' or 'y'?` for the names most like `name`, or nothing where none is near."""
    found = difflib.get_close_matches(name[:QUOTED_LENGTH], list(names), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(quoted(match) for match in found)}?" if found else ""


def listed(names: Iterable[str], most: int = 5) -> str:
    """The first few names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(quoted(name) for name in every[:most]) + more


def counted(number: int, singular: str, plural: str = "") -> str:
    """`1 line`, `2 lines`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
