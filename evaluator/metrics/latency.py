"""The distribution of the latency that a submission reports, on all tasks and on each tier.

A median hides the slow answers, and a person at a terminal waits for each of them. The project does not check the
reports.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates
from evaluator.records import Tier

WHOLE: Final = "all"
SLICES: Final = pl.Enum([WHOLE, *(tier.value for tier in Tier)])
"""The slices of tasks, in their order."""


def latency_profile(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the distribution of the reported latency in sorted rows, one for each suite, submission and slice.

    Columns: suite, submission, slice (`all` or a tier), reported (tasks with a report), median_s, p90_s and p99_s, in
    seconds. A slice without a report has no row. A task without a report counts as no value, not as 0.

    The median is the mean of the two middle values if their number is even, as in `usage`. The percentile p is the
    smallest reported value that is at least as large as p % of the values (Hyndman and Fan 1996, "Sample quantiles in
    statistical packages", The American Statistician 50, definition 1). So it is a time that really occurred.

        p_q = value number ceil(q * n) of the n values in rising order

    Example: 0.2, 0.3, 0.4 and 9 s give the median 0.35 s. p90 is value number ceil(3.6) = 4, which is 9 s. So is p99.
    """
    tasks = first_candidates(frame).filter(pl.col("latency_s").is_not_null())
    whole = tasks.with_columns(pl.lit(WHOLE, SLICES).alias("slice"))
    tiers = tasks.drop_nulls("tier").with_columns(pl.col("tier").cast(pl.String).cast(SLICES).alias("slice"))
    latency = pl.col("latency_s")
    return (
        pl.concat([whole, tiers])
        .group_by(*BOARD, "slice")
        .agg(
            pl.len().cast(pl.Int64).alias("reported"),
            latency.median().alias("median_s"),
            latency.quantile(0.9, "equiprobable").alias("p90_s"),
            latency.quantile(0.99, "equiprobable").alias("p99_s"),
        )
        .sort(*BOARD, "slice")
        .with_columns(pl.col("slice").cast(pl.String))
    )
