"""Graded candidates as a Polars frame: the one table that all metrics over submissions start from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import polars as pl

from evaluator.records import Outcome, Result

OUTCOMES: Final = pl.Enum([outcome.value for outcome in Outcome])

RESULT_SCHEMA: Final[Mapping[str, pl.DataType | type[pl.DataType]]] = {
    "submission": pl.String,
    "suite": pl.String,
    "task": pl.String,
    "topic": pl.String,
    "rank": pl.Int32,
    "confidence": pl.Float64,
    "outcome": OUTCOMES,
    "collateral": pl.Boolean,
    "nlc2cmd": pl.Float64,
}
"""Columns of a results frame. `rank` counts from 1; `nlc2cmd` is null where the command is missing or
empty."""

SORTED_BY: Final = ("suite", "submission", "task", "rank")


def results_frame(results: Iterable[Result], topics: Mapping[str, str]) -> pl.DataFrame:
    """One row a candidate, sorted, so that the order of `results` leaves no trace in what is computed from
    it.

    `topics` maps a task's id to its topic; KeyError names a task that it lacks.
    """
    rows = [
        (
            result.submission,
            result.suite,
            result.task,
            topics[result.task],
            result.rank,
            result.confidence,
            result.finding.outcome.value,
            result.finding.collateral,
            result.nlc2cmd if result.command and result.command.strip() else None,
        )
        for result in results
    ]
    return pl.DataFrame(rows, schema=RESULT_SCHEMA, orient="row").sort(SORTED_BY)


def first_candidates(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that rank: one for every task asked of a submission, answered or not."""
    return frame.filter(pl.col("rank") == 1)
