"""The row of figures that a board shows of a submission, put together from the metric families."""

from __future__ import annotations

import polars as pl

from evaluator.metrics.accuracy import BOARD, accuracy_at, execution_accuracy
from evaluator.metrics.nlc2cmd import mean_score


def summary(frame: pl.DataFrame) -> pl.DataFrame:
    """One row a suite and submission, sorted, from a results frame.

    Columns: those of `execution_accuracy`, `nlc2cmd` in [-1, 1], and `accuracy_at`, a list of {k, accuracy}.
    """
    at = accuracy_at(frame).group_by(BOARD, maintain_order=True).agg(pl.struct("k", "accuracy").alias("accuracy_at"))
    return (
        execution_accuracy(frame)
        .join(mean_score(frame), on=BOARD, validate="1:1")
        .join(at, on=BOARD, validate="1:1")
        .sort(BOARD)
    )
