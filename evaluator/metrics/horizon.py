"""The horizon curve: the share of tasks that a system solves within one, two and four times a person's time.

A system's time for a task is the sum of two parts: the reported time to answer (`latency_s`), and the measured wall
time of the first candidate (`wall_ms`, the median over the variants). A person's time is `human_s`, measured or
estimated. The submission reports `latency_s`, and the project does not check it. A submission without reported latency
has no curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates
from evaluator.records import Outcome

FACTORS: Final = (1, 2, 4)
"""Multiples of a person's time."""

SLICES: Final = ("all", "empirical", "estimated")
"""Groups of tasks by the source of the person's time. `all` contains both other groups."""

_PASSED: Final = pl.col("outcome") == Outcome.PASS.value
_USED_S: Final = pl.col("latency_s") + pl.col("wall_ms") / 1000


def horizon(frame: pl.DataFrame, factors: Sequence[int] = FACTORS) -> pl.DataFrame:
    """Return the horizon curve in sorted rows, one for each suite, submission and slice.

    `frame` is a results frame. A slice without tasks has no row. The slice `all` has all tasks with a person's time.
    The slices `empirical` and `estimated` have the tasks for which this time was measured or estimated.

    Columns: suite, submission, slice, asked (tasks with a person's time), timed (the number of those tasks with a
    reported latency), within (list of {k, share}), excess_s.

    `share` is the share of the tasks asked that are passed with latency_s + wall_ms / 1000 ≤ k · human_s, in [0, 1]. It
    never decreases with k. A task without latency_s or wall_ms counts as too slow. `within` is null if no task has both
    times.

    `excess_s` is the median of latency_s + wall_ms / 1000 - human_s over the passed tasks that have both times. It is
    null if there is no such task. It is rounded to 0.1 s, because wall times differ by milliseconds from run to run.
    Above 0, a person would have been faster. Below 0, a person would have been slower.

    Example: a person needs 10 s for each of two tasks, and a system passes them in 8 s and 15 s. The share is 1/2
    within a person's time and 1 within twice this time. The median excess is (-2 + 5) / 2 = 1.5 s.

    >>> rows = [("core", "a", "t1", "pass", 7.5, 500.0), ("core", "a", "t2", "pass", 14.0, 1000.0)]
    >>> columns = ["suite", "submission", "task", "outcome", "latency_s", "wall_ms"]
    >>> same = {"rank": pl.lit(1), "human_s": pl.lit(10.0), "human_provenance": pl.lit("estimated")}
    >>> frame = pl.DataFrame(rows, columns, orient="row").with_columns(**same)
    >>> whole = horizon(frame).row(0, named=True)
    >>> [point["share"] for point in whole["within"]], whole["excess_s"]
    ([0.5, 1.0, 1.0], 1.5)
    """
    tasks = first_candidates(frame).filter(pl.col("human_s").is_not_null())
    tasks = tasks.with_columns(pl.lit("all").alias("slice"), _USED_S.alias("used_s"))
    sliced = pl.concat([tasks, tasks.with_columns(pl.col("human_provenance").cast(pl.String).alias("slice"))])
    return (
        sliced.group_by(*BOARD, "slice")
        .agg(
            pl.len().alias("asked"),
            pl.col("latency_s").is_not_null().sum().alias("timed"),
            pl.when(pl.col("used_s").is_not_null().any()).then(_points(factors)).alias("within"),
            (pl.col("used_s") - pl.col("human_s")).filter(_PASSED).median().round(1).alias("excess_s"),
        )
        .sort(*BOARD, "slice")
    )


def by_latency_alone(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a results frame in which executed commands take no time, so that only latency counts.

    Boards of published verdicts use this frame. Verdicts record no wall times, because these differ from run to run.
    """
    was_run = pl.col("answered") & pl.col("runnable").is_not_null()
    return frame.with_columns(pl.when(was_run).then(pl.lit(0.0)).alias("wall_ms"))


def _points(factors: Sequence[int]) -> pl.Expr:
    shares = [(_PASSED & (pl.col("used_s") <= k * pl.col("human_s"))).fill_null(value=False).mean() for k in factors]
    points = [
        pl.struct(pl.lit(k, pl.Int32).alias("k"), share.alias("share"))
        for k, share in zip(factors, shares, strict=True)
    ]
    return pl.concat_list(points) if points else pl.lit([])
