"""The rows of a leaderboard as one file, which a page fetches when its reader filters or sorts the table.

The page itself holds only the first rows in HTML. The file has the HTML of each cell, so that a script and the page
show the same. Links in it are relative to the board's folder.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from evaluator.leaderboard import standing_values as values
from evaluator.leaderboard.columns import page_columns
from evaluator.leaderboard.formats import begins_group
from evaluator.leaderboard.html_text import plain_text
from evaluator.leaderboard.leaderboard_view import BoardView
from evaluator.records import Method, Standing

ROWS_NAME: Final = "rows.json"
FIRST_ROWS: Final = 100
"""Number of rows in the page itself."""
MAX_CHOICES: Final = 200
"""Number of values of a facet from which a reader chooses, those with the most systems. The text filter finds all."""

_Facet = Callable[[Standing], Iterable[str]]
FACETS: Final[Mapping[str, tuple[str, _Facet]]] = {
    "weights": ("Weights", lambda row: [values.weights_of(row)]),
    "size": ("Size", lambda row: [values.size_class(row)]),
    "method": ("Method", lambda row: [row.method.value]),
    "author": ("Author", lambda row: map(plain_text, dict.fromkeys(row.authors))),
}
"""The title of each facet, and the function that returns a system's values."""

_ORDER: Final = {
    name: place
    for place, name in enumerate([*values.SIZE_CLASSES, values.UNKNOWN_SIZE, *(method.value for method in Method)])
}


def rows_json(ranked: Sequence[Standing], view: BoardView) -> str:
    """Return the rows of a board as JSON. `view.place` must be the address relative to the board's folder."""
    columns = page_columns(ranked)
    rows = [
        {
            "cells": [view.cell(key, cell, standing) for key, cell in columns],
            "values": [_rounded(cell.value(standing)) for _, cell in columns],
            "facets": {key: list(facet(standing)) for key, (_, facet) in FACETS.items()},
            "words": _words(standing, view),
            "begins": begins_group(standing),
        }
        for standing in ranked
    ]
    lines = ",\n".join(json.dumps(row, separators=(",", ":"), sort_keys=True) for row in rows)
    return f'{{"rows":[\n{lines}\n]}}\n'


def table_facts(ranked: Sequence[Standing]) -> Markup:
    """Return the columns and facets of a board's table as JSON that can stand in a script element."""
    facts: dict[str, Any] = {
        "total": len(ranked),
        "columns": [
            {"key": key, "title": cell.title, "note": cell.note, "kind": cell.kind, "shown": cell.shown}
            for key, cell in page_columns(ranked)
        ],
        "facets": [
            {"key": key, "title": title, "choices": choices}
            for key, (title, facet) in FACETS.items()
            if len(choices := _choices(ranked, facet)) > 1
        ],
    }
    text = json.dumps(facts, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - without a character that acts in a script element


def _choices(ranked: Sequence[Standing], facet: _Facet) -> list[tuple[str, int]]:
    """Return the values of a facet, each with its number of systems. Known values have an order of their own."""
    common = Counter(value for standing in ranked for value in facet(standing)).most_common(MAX_CHOICES)
    return sorted(common, key=lambda item: (_ORDER.get(item[0], -1), item[0].casefold(), item[0]))


def _words(standing: Standing, view: BoardView) -> str:
    """Return the text that the text filter searches."""
    texts = [
        plain_text(standing.system),
        standing.submission,
        standing.method.value,
        f"{values.weights_of(standing)} weights",
        view.size(standing) or "",
        (view.size(standing) or "").replace(" ", ""),
        values.licence_of(standing),
        values.authors_of(standing),
        values.models_of(standing),
    ]
    return "\n".join(texts).lower()


def _rounded(value: str | float | None) -> str | float | None:
    return float(f"{value:.6g}") if isinstance(value, float) else value
