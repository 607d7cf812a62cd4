"""Functions that quote a submission in messages, suggest similar names and list names.

Messages are shown on terminals, in logs and in annotations of pull requests. `printable` escapes every quotation from a
submission, so that a message contains no control sequence and no bidirectional override.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable

from evaluator.escaping import printable

QUOTED_LENGTH = 60
"""Length of a quotation in a message, in characters before escaping."""


def quoted(text: str, length: int = QUOTED_LENGTH) -> str:
    """Escape a text and put it into single quotes. Cut a text of more than `length` characters and append `…`."""
    cut = f"{printable(text[:length])}'…" if len(text) > length else f"{printable(text)}'"
    return f"'{cut}"


def described(value: object) -> str:
    """Describe an unexpected JSON value. The contents of arrays and objects are omitted."""
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
    """Return `; did you mean 'x' or 'y'?` with the names most similar to `name`, or "" if none is similar."""
    similar = difflib.get_close_matches(name[:QUOTED_LENGTH], list(names), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(quoted(match) for match in similar)}?" if similar else ""


def listed(names: Iterable[str], most: int = 5) -> str:
    """Join at most `most` names with commas. Append the number of omitted names, if any."""
    all_names = list(names)
    more = f" and {len(all_names) - most} more" if len(all_names) > most else ""
    return ", ".join(quoted(name) for name in all_names[:most]) + more
