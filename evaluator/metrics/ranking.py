"""The order of candidates: reciprocal rank and average precision of the candidates that pass.

Both metrics reward an early right command. Accuracy at k ignores the position within the first k candidates.
"""

from __future__ import annotations

import polars as pl

from evaluator.metrics.frames import BOARD
from evaluator.records import Outcome


def ranking(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns suite, submission, mrr and map, which are means over the tasks asked, in [0, 1].

    Mean reciprocal rank (Voorhees 1999, "The TREC-8 Question Answering Track Report"): 1 / rank of the first candidate
    that passes, or 0 if none passes. It is never below accuracy.

    Mean average precision (Manning, Raghavan and Schütze 2008, "Introduction to Information Retrieval", 8.4): for a
    candidate of rank r that passes, compute the share of passes among the first r candidates. Average these shares over
    all R candidates that pass. The result is 0 if none passes.

        RR = 1 / (rank of the first pass)      AP = 1/R * sum over passes of (passes so far) / rank

    If the candidates fail, pass, pass: RR = 1/2, AP = (1/2 + 2/3) / 2 = 7/12. If they pass, fail, fail: both are 1.
    """
    passed = frame.filter(pl.col("outcome") == Outcome.PASS.value).sort("rank")
    tasks = passed.group_by(*BOARD, "task", maintain_order=True).agg(
        (1 / pl.col("rank").min()).alias("rr"), (pl.int_range(1, pl.len() + 1) / pl.col("rank")).mean().alias("ap")
    )
    asked = frame.group_by(BOARD).agg(pl.col("task").n_unique().alias("asked"))
    # Sort by task, because the last bits of a sum of fractions depend on the order.
    summed = tasks.sort("task").group_by(BOARD, maintain_order=True).agg(pl.col("rr", "ap").sum())
    share = asked.join(summed, on=BOARD, how="left", validate="1:1")
    mrr, precision = (pl.col(name).fill_null(0) / pl.col("asked") for name in ("rr", "ap"))
    return share.select(*BOARD, mrr.clip(0, 1).alias("mrr"), precision.clip(0, 1).alias("map")).sort(BOARD)
