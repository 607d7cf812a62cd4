"""What answers took by the submission's own word: latency, energy, tokens. Reported by it, and checked by nobody."""

from __future__ import annotations

from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates

REPORTED: Final = ("latency_s", "energy_j", "input_tokens", "output_tokens")


def reported_usage(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns suite, submission, and of each of latency_s (seconds), energy_j (joules), input_tokens, output_tokens the
    median over the tasks it was reported of, at least 0, and how many these are, as `…_reported`.

    The median is null where nothing was reported; nothing is filled in for tasks without a report. It is a median
    because one cold start is not how long a system takes.

    Latencies of 0.2, 0.4 and 9 s on four tasks: latency_s 0.4, latency_s_reported 3.
    """
    medians = [pl.col(name).median().cast(pl.Float64) for name in REPORTED]
    counts = [pl.col(name).is_not_null().sum().cast(pl.Int64).alias(f"{name}_reported") for name in REPORTED]
    return first_candidates(frame).group_by(BOARD).agg(*medians, *counts).sort(BOARD)
