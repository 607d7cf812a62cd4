"""The board's records to take away: the same words as on disk, complete where pages cut.

JSON holds what the records hold. A CSV is opened in spreadsheets, which run what looks like a formula and
hide what a terminal would obey, so there a system's name is written out and never begins like a formula.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evaluator.leaderboard.escaping import plain_text
from evaluator.leaderboard.leaderboard_page import topics_of
from evaluator.records import JudgedBy, Result, Standing, SubmissionMetrics, json_lines

_TALLY = ("passed", "asked")
_NESTED = frozenset({"topics", "accuracy_at", "figures", "judged_by"})
_FIELDS = tuple(name for name in Standing.model_fields if name not in _NESTED)
_DEPTHS = ("full_command_at", "template_at")
_FIGURES = tuple(
    name for name in SubmissionMetrics.model_fields if name not in {*_DEPTHS, "horizon", "difficulties", "utilities"}
)


def standings_csv(standings: Sequence[Standing]) -> str:
    """A row a submission in board order; shares at k (`accuracy_at_K`), tallies (`passed_TOPIC`, `asked_TOPIC`,
    `passed_difficulty_D`) and figures follow the fields. Empty: not measured. Horizons' slices and utilities are in
    the JSON alone."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    columns = _Columns.of(standings)
    writer.writerow(columns.names())
    writer.writerows(map(columns.cells, standings))
    return stream.getvalue()


class _Columns(NamedTuple):
    """What varies from board to board: which depths, topics and difficulties there are, what rows were judged by."""

    depths: Sequence[int]
    topics: Sequence[str]
    difficulties: Sequence[str]
    judged: Sequence[str]

    @classmethod
    def of(cls, standings: Sequence[Standing]) -> _Columns:
        depths = {depth for standing in standings for depth in standing.accuracy_at}
        levels = {level for standing in standings for level in standing.figures.difficulties}
        judged = list(JudgedBy.model_fields) if any(standing.judged_by for standing in standings) else []
        return cls(sorted(depths), list(topics_of(standings)), sorted(levels), judged)

    def names(self) -> list[str]:
        levels = [f"difficulty_{level}" for level in self.difficulties]
        tallies = [f"{name}_{group}" for group in (*self.topics, *levels) for name in _TALLY]
        at = [f"{name}_{depth}" for name in ("accuracy_at", *_DEPTHS) for depth in self.depths]
        judged = [f"judged_by_{name}" for name in self.judged]
        return [*_FIELDS, *at, *tallies, *_FIGURES, *judged]

    def cells(self, standing: Standing) -> list[object]:
        record, figures = standing.model_dump(mode="json"), standing.figures
        shares = (standing.accuracy_at, *(getattr(figures, name) for name in _DEPTHS))
        at = [by_depth.get(depth, "") for by_depth in shares for depth in self.depths]
        groups = [record["topics"].get(topic, {}) for topic in self.topics]
        groups += [record["figures"]["difficulties"].get(level, {}) for level in self.difficulties]
        tallies = [group.get(name, 0) for group in groups for name in _TALLY]
        measured = [record["figures"][name] for name in _FIGURES]
        judged = [_inert(_flat((record["judged_by"] or {}).get(name, ""))) for name in self.judged]
        return [*(_inert(record[name]) for name in _FIELDS), *at, *tallies, *measured, *judged]


def _flat(value: object) -> object:
    """A list as one cell."""
    return " ".join(map(str, value)) if isinstance(value, list) else value


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
