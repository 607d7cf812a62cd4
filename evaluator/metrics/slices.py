"""Accuracy by what tasks have in common: topic, difficulty, utilities; and over utilities by how common they are.

A slice has few tasks: its passes and its tasks asked are given, never a share alone.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates
from evaluator.records import Outcome

MIN_TASKS: Final = 5
"""Tasks that a utility is called in before a board tallies it: of fewer, a share tells next to nothing."""

_PASSED: Final = pl.col("outcome") == Outcome.PASS.value


def accuracy_by(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """First candidates by `column` (topic, difficulty): columns suite, submission, `column`, asked, passed.

    Sorted; tasks of which the column is null are left out. 0 <= passed <= asked.

    Difficulties 1, 1 and 2, of which the first and the last are passed: (1, 2, 1) and (2, 1, 1).
    """
    return _tallied(first_candidates(frame).drop_nulls(column), column)


def accuracy_by_utility(frame: pl.DataFrame, calls: pl.DataFrame, min_tasks: int = MIN_TASKS) -> pl.DataFrame:
    """First candidates by the utilities that their task's references call: columns suite, submission, utility, asked,
    passed.

    `calls` is a `utilities_frame`. A task counts for each utility that one of its references calls, nested in
    another or not, so that the utilities' tasks add up to more than the suite's. Utilities with fewer than `min_tasks`
    tasks asked are left out.

    With 1 for `min_tasks`, one task passed, with references `sort a | uniq` and `sort -u a`: sort (1, 1), uniq (1, 1).
    """
    rows = first_candidates(frame).select(*BOARD, "task", "outcome")
    tallied = _tallied(rows.join(calls.select("task", "utility"), on="task"), "utility")
    return tallied.filter(pl.col("asked") >= min_tasks)


def utility_weighted_accuracy(frame: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Columns suite, submission, utility_weighted in [0, 1]: a second order, in which common utilities count for more.

    With A_u the accuracy on the tasks whose references call utility u, and f_u how often the references of the tasks
    asked call it (a task's references averaged, the tasks added up):

        utility-weighted accuracy = sum of f_u * A_u / sum of f_u

    Null where no reference calls anything. The weights are the suite's own, so nothing depends on anybody else's
    corpus; it is the frequency-weighted mean over classes that segmentation uses (Long, Shelhamer and Darrell 2015,
    "Fully Convolutional Networks for Semantic Segmentation", CVPR), with utilities as classes.

    Two tasks with one reference each, `find a | sort | uniq` passed and `find b` failed: f is 2, 1 and 1, A is 1/2, 1
    and 1, and the sum (2 * 1/2 + 1 + 1) / 4 = 3/4, where accuracy is 1/2.
    """
    rows = first_candidates(frame).select(*BOARD, "task", _PASSED.alias("passed")).join(calls, on="task")
    utilities = (
        rows.sort(*BOARD, "utility", "task")
        .group_by(*BOARD, "utility", maintain_order=True)
        .agg(pl.col("calls").sum(), pl.col("passed").mean().alias("accuracy"))
    )
    weighted = (pl.col("calls") * pl.col("accuracy")).sum() / pl.col("calls").sum()
    found = utilities.group_by(BOARD, maintain_order=True).agg(weighted.clip(0, 1).alias("utility_weighted"))
    return frame.select(BOARD).unique().join(found, on=BOARD, how="left", validate="1:1").sort(BOARD)


def _tallied(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    counts = (pl.len().cast(pl.Int64).alias("asked"), _PASSED.sum().cast(pl.Int64).alias("passed"))
    return rows.group_by(*BOARD, column).agg(*counts).sort(*BOARD, column)
