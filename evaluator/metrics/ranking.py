"""The order of candidates: the reciprocal rank of the first candidate that passes.

The metric rewards an early right command. Accuracy at k ignores the position within the first k candidates. Average
precision would need the verdicts behind the first pass, and these candidates are not run. Over the candidates that run,
it equals the reciprocal rank.
"""

from __future__ import annotations

import polars as pl

from evaluator.metrics.frames import BOARD
from evaluator.records import Outcome


def ranking(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns suite, submission and mrr, which is a mean over the tasks asked, in [0, 1].

    Mean reciprocal rank (Voorhees 1999, "The TREC-8 Question Answering Track Report"): 1 / rank of the first candidate
    that passes, or 0 if none passes. It is never below accuracy.

        RR = 1 / (rank of the first pass)

    If the candidates fail, pass, and are not run: RR = 1/2.
    """
    passed = pl.col("rank").filter(pl.col("outcome") == Outcome.PASS.value)
    tasks = frame.group_by(*BOARD, "task").agg((1 / passed.min()).fill_null(0).alias("rr"))
    # Sort by task, because the last bits of a sum of fractions depend on the order.
    means = tasks.sort("task").group_by(BOARD, maintain_order=True).agg(pl.col("rr").mean().clip(0, 1).alias("mrr"))
    return means.sort(BOARD)
