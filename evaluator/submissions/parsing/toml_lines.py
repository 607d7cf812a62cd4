"""On which line of a TOML file a field stands; the language's reader tells values and not places."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from evaluator.submissions.parsing.record_errors import Location

_KEY: Final = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')"
_TABLE: Final = re.compile(rf"\s*(\[\[?)\s*({_KEY})")
_ASSIGNMENT: Final = re.compile(rf"\s*({_KEY})\s*[.=]")


def toml_lines(text: str) -> dict[Location, int]:
    """1-based lines of tables and keys, by location; the first place that looks like a field is taken for it.

    A line inside a string of several lines may be taken for a key. That misplaces a message and nothing else.
    """
    lines: dict[Location, int] = {}
    seen: Counter[str] = Counter()
    table: Location = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _TABLE.match(line):
            name = _unquoted(header[2])
            table = (name,) if header[1] == "[" else (name, seen[name])
            seen[name] += 1
            lines.setdefault((name,), number)
            lines.setdefault(table, number)
        elif assignment := _ASSIGNMENT.match(line):
            lines.setdefault((*table, _unquoted(assignment[1])), number)
    return lines


def line_of(location: Location, lines: dict[Location, int]) -> int:
    """The line of a field, or of the nearest thing that holds it; 0 where nothing does."""
    while location and location not in lines:
        location = location[:-1]
    return lines.get(location, 0)


def _unquoted(key: str) -> str:
    return key[1:-1] if key[0] in "\"'" else key
