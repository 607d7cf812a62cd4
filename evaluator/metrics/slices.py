"""Accuracy by group of tasks (topic, difficulty, utility), and accuracy weighted by the frequency of utilities.

A group has few tasks, so the functions return the number of passes and of tasks, never a share alone.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates
from evaluator.records import Outcome

MIN_TASKS: Final = 5
"""Minimum number of tasks that call a utility before a board shows it. A share of fewer tasks says very little."""

_PASSED: Final = pl.col("outcome") == Outcome.PASS.value


def accuracy_by(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Count the tasks asked and passed for each value of `column` (topic or difficulty).

    Columns: suite, submission, `column`, asked, passed, with 0 <= passed <= asked. The rows are sorted. Tasks with null
    in `column` are left out.

    Example: of two tasks of difficulty 1, one passes. One task of difficulty 2 passes. The rows (difficulty, asked,
    passed) are (1, 2, 1) and (2, 1, 1).
    """
    return _tallied(first_candidates(frame).drop_nulls(column), column)


def accuracy_by_utility(frame: pl.DataFrame, calls: pl.DataFrame, min_tasks: int = MIN_TASKS) -> pl.DataFrame:
    """Count the tasks asked and passed for each utility that the tasks' references call.

    Columns: suite, submission, utility, asked, passed. `calls` is a `utilities_frame`. A task counts once for each
    utility that its references call, nested or not. So the sum over all utilities can be larger than the number of
    tasks. Utilities with fewer than `min_tasks` tasks asked are left out.

    Example: one task with references `sort a | uniq` and `sort -u a` passes. The rows are (sort, 1, 1), (uniq, 1, 1).
    """
    rows = first_candidates(frame).select(*BOARD, "task", "outcome")
    tallied = _tallied(rows.join(calls.select("task", "utility"), on="task"), "utility")
    return tallied.filter(pl.col("asked") >= min_tasks)


def utility_weighted_accuracy(frame: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return accuracy with more weight on common utilities: columns suite, submission, utility_weighted in [0, 1].

    A_u is the accuracy on the tasks that call utility u in a reference. f_u is the frequency of u: the mean number of
    its calls per reference of a task, summed over the tasks asked.

        utility-weighted accuracy = sum of f_u * A_u / sum of f_u

    The result is null if no reference calls a utility. The weights come from the suite itself, so the metric depends on
    no other corpus. The formula is the frequency-weighted mean over classes from image segmentation (Long, Shelhamer
    and Darrell 2015, "Fully Convolutional Networks for Semantic Segmentation", CVPR), with utilities as classes.

    Example: the task with reference `find a | sort | uniq` passes, the task with `find b` fails. f is 2, 1 and 1, A is
    1/2, 1 and 1, and the result is (2 * 1/2 + 1 + 1) / 4 = 3/4. The plain accuracy is 1/2.
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
