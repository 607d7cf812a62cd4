"""Execution accuracy: the share of tasks for which a submission's command does the right thing when executed.

The denominator is every task asked. An unanswered, timed-out or undecided task counts as not passed. Undecided tasks
are never left out. An upper bound counts undecided tasks as passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates
from evaluator.metrics.slices import accuracy_by
from evaluator.records import Outcome

CONFIDENCE_LEVEL: Final = 0.95
CANDIDATES_AT: Final = (1, 3, 5)

_COUNTS: Final = {
    "passed": Outcome.PASS,
    "failed": Outcome.FAIL,
    "timeout": Outcome.TIMEOUT,
    "invalid": Outcome.INVALID,
    "unanswered": Outcome.UNANSWERED,
    "undecided": Outcome.UNDECIDED,
    "infra_errors": Outcome.INFRA_ERROR,
}


def execution_accuracy(frame: pl.DataFrame) -> pl.DataFrame:
    """Return sorted rows, one per suite and submission: counts by outcome, accuracy with bounds, collateral rate.

    Columns: suite, submission, asked, passed, failed, timeout, invalid, unanswered, undecided, infra_errors, accuracy,
    accuracy_low and accuracy_high (Wilson 95 %), accuracy_upper, collateral. All shares are in [0, 1].

        accuracy       = passed / asked
        accuracy_upper = (passed + undecided) / asked
        collateral     = asked tasks with collateral changes / asked

    A task has collateral changes if the first candidate creates, changes or deletes a path that no reference touches.

    Seven tasks, one of each outcome of a candidate that ran: accuracy 1/7, upper bound 2/7.
    """
    counts = (
        first_candidates(frame)
        .group_by(BOARD)
        .agg(
            pl.len().alias("asked"),
            *(_count(outcome).alias(name) for name, outcome in _COUNTS.items()),
            pl.col("collateral").mean(),
        )
    )
    low, high = wilson_interval(pl.col("passed"), pl.col("asked"))
    return (
        counts.with_columns(
            (pl.col("passed") / pl.col("asked")).alias("accuracy"),
            low.alias("accuracy_low"),
            high.alias("accuracy_high"),
            ((pl.col("passed") + pl.col("undecided")) / pl.col("asked")).alias("accuracy_upper"),
        )
        .select(*BOARD, "asked", *_COUNTS, "accuracy", "accuracy_low", "accuracy_high", "accuracy_upper", "collateral")
        .sort(BOARD)
    )


def accuracy_at(frame: pl.DataFrame, candidates: Sequence[int] = CANDIDATES_AT) -> pl.DataFrame:
    """Return the share of asked tasks in which at least one of the first k candidates passes.

    Columns: suite, submission, k, accuracy. The accuracy is in [0, 1] and never decreases with k. At k = 1 it is
    execution accuracy. The first k candidates are those that the submission lists first.

        accuracy at k = tasks that one of the first k candidates passes / tasks asked

    Example: of three tasks, one first passes with candidate 2, one with candidate 4, and one never. The accuracy is 0
    at k = 1, 1/3 at k = 3 and 2/3 at k = 5.
    """
    tasks = frame.group_by(*BOARD, "task").agg(
        pl.col("rank").filter(pl.col("outcome") == Outcome.PASS.value).min().alias("first_pass")
    )
    at = [
        tasks.group_by(BOARD).agg(
            pl.lit(k, pl.Int32).alias("k"), (pl.col("first_pass").fill_null(k + 1) <= k).mean().alias("accuracy")
        )
        for k in candidates
    ]
    return pl.concat(at).sort(*BOARD, "k")


def accuracy_by_topic(frame: pl.DataFrame) -> pl.DataFrame:
    """Count the tasks asked and passed by topic: columns suite, submission, topic, asked, passed."""
    return accuracy_by(frame, "topic")


def passes(frame: pl.DataFrame) -> pl.DataFrame:
    """Return for each task whether the first candidate passes: columns suite, submission, task, passed (Boolean)."""
    return first_candidates(frame).select(*BOARD, "task", (pl.col("outcome") == Outcome.PASS.value).alias("passed"))


def wilson_interval(passed: pl.Expr, asked: pl.Expr, level: float = CONFIDENCE_LEVEL) -> tuple[pl.Expr, pl.Expr]:
    """Return the lower and upper bound of Wilson's score interval for a proportion.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference", Journal of the American
    Statistical Association 22, 209-212. With p = passed / n and z the normal quantile of (1 + level) / 2: (p + z²/2n ±
    z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n). If p is 0 or 1, the textbook interval has the width 0, but this interval is
    wider. Example: 222 of 300 gives 0.688 to 0.786.

    The formula works on whole columns. SciPy's `binomtest(…).proportion_ci` takes one submission at a time, and its
    import is slow. statsmodels would be another dependency. The tests check that the result equals SciPy's.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = passed / asked
    centre = share + z * z / (2 * asked)
    spread = z * (share * (1 - share) / asked + z * z / (4 * asked * asked)).sqrt()
    scale = 1 + z * z / asked
    return ((centre - spread) / scale).clip(0, 1), ((centre + spread) / scale).clip(0, 1)


def wilson_bounds(passed: float, asked: int) -> tuple[float, float]:
    """Return the bounds of `wilson_interval` for one proportion, or (0, 1) if no task was asked.

    `passed` is a mean if several runs were asked the same tasks. The interval is then that of a single run, and rather
    too wide, because the mean of a task over several runs varies no more between tasks than the result of a single run.
    """
    if not asked:
        return 0.0, 1.0
    low, high = wilson_interval(pl.lit(passed), pl.lit(asked))
    bounds: tuple[float, float] = pl.select(low.alias("low"), high.alias("high")).row(0)
    return bounds


def _count(outcome: Outcome) -> pl.Expr:
    return (pl.col("outcome") == outcome.value).sum()
