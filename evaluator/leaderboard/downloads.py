"""The board's records to take away: the same words as on disk, complete where pages cut.

JSON holds what the records hold. A CSV is opened in spreadsheets, which run what looks like a formula and
hide what a terminal would obey, so there a system's name is written out and never begins like a formula.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence

from evaluator.leaderboard.escaping import plain_text
from evaluator.leaderboard.leaderboard_page import topics_of
from evaluator.records import Result, Standing, json_lines

_FIELDS = tuple(name for name in Standing.model_fields if name not in {"topics", "accuracy_at"})


def standings_csv(standings: Sequence[Standing]) -> str:
    """A row a submission in board order; `accuracy_at_K` and `passed_TOPIC`, `asked_TOPIC` follow the fields."""
    topics = list(topics_of(standings))
    depths = sorted({depth for standing in standings for depth in standing.accuracy_at})
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    tallies = [f"{name}_{topic}" for topic in topics for name in ("passed", "asked")]
    writer.writerow([*_FIELDS, *(f"accuracy_at_{depth}" for depth in depths), *tallies])
    for standing in standings:
        writer.writerow(_csv_row(standing, depths, topics))
    return stream.getvalue()


def _csv_row(standing: Standing, depths: Sequence[int], topics: Sequence[str]) -> list[object]:
    record = standing.model_dump(mode="json")
    cells = [_inert(record[name]) for name in _FIELDS]
    tallies = [record["topics"].get(topic, {}).get(name, 0) for topic in topics for name in ("passed", "asked")]
    return [*cells, *(standing.accuracy_at.get(depth, "") for depth in depths), *tallies]


def _inert(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = plain_text(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def standings_json(standings: Sequence[Standing]) -> str:
    """A list of standings in board order, every field given."""
    rows = [standing.model_dump(mode="json") for standing in standings]
    return json.dumps(rows, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def results_lines(results: Iterable[Result]) -> str:
    """Results as JSON lines, in the order given."""
    return json_lines(results)
