"""Compute the ranks of submissions on earlier days, from the verdicts of today.

A board of an earlier day has the systems that were added until then. The verdicts, and so the judge, are those of
today. So a rank changes only if systems are added, and ranks of different days can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Final

import polars as pl

from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.paired import tie_groups
from evaluator.pipeline.boards.passed_tasks import passed_tasks
from evaluator.records import RankDay, Standing

MONTHS: Final = 12
"""Number of ends of a month in the history of a rank."""


def rank_history(board: SuiteBoard) -> dict[str, tuple[RankDay, ...]]:
    """Return the ranks of each ranked submission, the earliest day first.

    The days are the day on which the newest system was added, and the ends of the months before. Ranked systems
    without a day of addition are on no earlier board. So they have no history.
    """
    ranked = [row for row in board.standings if row.ranked and row.added is not None]
    if not ranked:
        return {}
    passed = passed_tasks(board)
    tasks = [task.id for task in board.tasks]
    frame = pl.DataFrame(
        {
            "submission": [row.submission for row in ranked for _ in tasks],
            "task": tasks * len(ranked),
            "passed": [task in passed[row.submission] for row in ranked for task in tasks],
        },
        schema={"submission": pl.String, "task": pl.String, "passed": pl.Boolean},
    )
    history: dict[str, list[RankDay]] = {row.submission: [] for row in ranked}
    for day in _days(ranked):
        for slug, place in _ranks(ranked, frame, day):
            history[slug].append(place)
    return {slug: tuple(days) for slug, days in history.items()}


def _days(ranked: Sequence[Standing]) -> list[date]:
    """Return the ends of at most MONTHS months from the first to the newest addition, and the day of the newest one."""
    added = sorted(row.added for row in ranked if row.added is not None)
    days, end = [added[-1]], added[-1].replace(day=1) - timedelta(days=1)
    while end >= added[0] and len(days) <= MONTHS:
        days.append(end)
        end = end.replace(day=1) - timedelta(days=1)
    return days[::-1]


def _ranks(ranked: Sequence[Standing], passes: pl.DataFrame, day: date) -> Iterator[tuple[str, RankDay]]:
    """Yield the ranks at the end of a day. `ranked` has the best submission first."""
    there = [row for row in ranked if row.added is not None and row.added <= day]
    order = [row.submission for row in there]
    ties = tie_groups(passes.filter(pl.col("submission").is_in(order)), order)
    rank = 1
    for place, (row, tie) in enumerate(zip(there, ties, strict=True), start=1):
        if place == 1 or row.passed != there[place - 2].passed:
            rank = place
        yield (
            row.submission,
            RankDay(day=day, rank=rank, tie_group=tie.tie_group, groups=ties[-1].tie_group, systems=len(there)),
        )
