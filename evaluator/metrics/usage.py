"""The cost of answers (latency, energy, tokens) that the submission reports. The project does not check the numbers."""

from __future__ import annotations

from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates

REPORTED: Final = ("latency_s", "energy_j", "input_tokens", "output_tokens")
TOKENS: Final = ("input_tokens", "output_tokens")


def reported_usage(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the median of each reported cost and the number of tasks with a report.

    Columns: suite, submission, latency_s (seconds), energy_j (joules), input_tokens, output_tokens, each the median
    over the tasks with a report, and never negative. A column `…_reported` holds the number of these tasks. A median is
    null if no task has a report. A task without a report counts as no value, not as 0. A median is used because one
    slow first answer hardly changes it. The columns `mean_input_tokens` and `mean_output_tokens` hold means over the
    tasks that report both numbers, because a price is paid for all tokens.

    Example: latencies of 0.2, 0.4 and 9 s for three of four tasks give latency_s 0.4 and latency_s_reported 3.
    """
    medians = [pl.col(name).median().cast(pl.Float64) for name in REPORTED]
    counts = [pl.col(name).is_not_null().sum().cast(pl.Int64).alias(f"{name}_reported") for name in REPORTED]
    both = pl.all_horizontal(pl.col(TOKENS).is_not_null())
    means = [pl.col(name).filter(both).mean().alias(f"mean_{name}") for name in TOKENS]
    return first_candidates(frame).group_by(BOARD).agg(*medians, *counts, *means).sort(BOARD)
