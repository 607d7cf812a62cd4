"""The cost of answers as the submission reports it: latency, energy and tokens. The numbers are not checked."""

from __future__ import annotations

from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates

REPORTED: Final = ("latency_s", "energy_j", "input_tokens", "output_tokens")


def reported_usage(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the medians of reported usage and the number of tasks behind each.

    Columns: suite, submission, latency_s (seconds), energy_j (joules), input_tokens, output_tokens, each the median
    over the tasks with a report, at least 0, and each with the number of these tasks as `…_reported`. A median is null
    if nothing was reported. Tasks without a report are not filled in. The median is used so that one cold start does
    not count as the usual time.

    Latencies of 0.2, 0.4 and 9 s on four tasks: latency_s 0.4, latency_s_reported 3.
    """
    medians = [pl.col(name).median().cast(pl.Float64) for name in REPORTED]
    counts = [pl.col(name).is_not_null().sum().cast(pl.Int64).alias(f"{name}_reported") for name in REPORTED]
    return first_candidates(frame).group_by(BOARD).agg(*medians, *counts).sort(BOARD)
