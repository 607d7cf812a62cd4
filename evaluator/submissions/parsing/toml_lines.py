"""This module finds the line numbers of fields in TOML, because Python's parser returns values without positions."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from evaluator.submissions.parsing.record_errors import Location

_KEY: Final = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')"
_TABLE: Final = re.compile(rf"\s*(\[\[?)\s*({_KEY})")
_ASSIGNMENT: Final = re.compile(rf"\s*({_KEY})\s*[.=]")


def toml_lines(text: str) -> dict[Location, int]:
    """Map the location of each table or field in a TOML text to its first line (1-based).

    A line inside a multi-line string may be mistaken for a key. The only effect is a wrong line in a message.
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
    """Return the line of a field in a TOML file. Return its table's line if only this is known, and otherwise 0."""
    while location and location not in lines:
        location = location[:-1]
    return lines.get(location, 0)


def setting_line(text: str, location: Location) -> int:
    """Return the line of a setting in nested tables such as `[tool.bashboard.final]`, or 1 if it is in none.

    >>> setting_line("[tool.x]\\na = 1\\n[tool.x.y]\\nb = 2\\n", ("tool", "x", "y", "b"))
    4
    """
    found, table = 1, ""
    wanted = [str(part) for part in location]
    for number, line in enumerate(text.split("\n"), start=1):
        if header := re.match(r"\s*\[([^\[\]]+)\]", line):
            table = header[1].strip()
            if wanted[: table.count(".") + 1] == table.split("."):
                found = number
        elif (assignment := _ASSIGNMENT.match(line)) and [*table.split("."), _unquoted(assignment[1])] == wanted:
            return number
    return found


def _unquoted(key: str) -> str:
    return key[1:-1] if key[0] in "\"'" else key
