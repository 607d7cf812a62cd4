"""The session score: how often a system passes several related tasks one after another.

The NLC2CMD metric scores each task alone, and Agarwal et al. 2021 discuss what it lacks. A person at a terminal asks
for several things in one place, and one wrong command spoils the work. Tasks of one world are about the same files, so
they stand for such a session. Each command still starts in a fresh copy of the world, so the effects of one answer do
not reach the next.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates
from evaluator.records import Outcome

LENGTH: Final = 3
"""The number of tasks in a session."""


def session_scores(frame: pl.DataFrame, length: int = LENGTH) -> pl.DataFrame:
    """Return the mean share of sessions that are passed as a whole: columns suite, submission, session_score, sessions.

    A session is a choice of `length` different tasks of one world, or all tasks of a world with fewer. It is passed if
    the first candidates of all its tasks pass. Of a world with n tasks, of which s are passed, with k = min(length, n):

        score of the world = C(s, k) / C(n, k)
        session score      = mean of the scores over the worlds

    `sessions` is the number of worlds. The score is in [0, 1], and null without a world. It is pass^k of Yao et al.
    2024 ("τ-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains", arXiv:2406.12045), with the
    tasks of a world in the place of the trials of a task. The product of the outcomes of *all* tasks of a world would
    be 0 for nearly every system in a world of twenty tasks, and the accuracy in a world of one. Sessions of one length
    can be compared.

    Example: a world of four tasks with three passes scores 1/4. A world of two tasks, both passed, scores 1. The mean
    is 5/8.
    """
    tasks, passed = pl.len().cast(pl.Int64), (pl.col("outcome") == Outcome.PASS.value).sum().cast(pl.Int64)
    firsts = first_candidates(frame).drop_nulls("world").group_by(*BOARD, "world")
    worlds = firsts.agg(tasks.alias("n"), passed.alias("s")).sort(*BOARD, "world")
    # C(s, k) / C(n, k) is the product of (s - i) / (n - i) over i < k. In a shorter session, the last factors are 1.
    n, s = pl.col("n"), pl.col("s")
    factors = [pl.when(n > i).then((s - i).clip(0) / (n - i)).otherwise(1.0) for i in range(length)]
    share = reduce(lambda left, right: left * right, factors, pl.lit(1.0))
    found = worlds.group_by(BOARD, maintain_order=True).agg(
        share.mean().clip(0, 1).alias("session_score"), pl.len().cast(pl.Int64).alias("sessions")
    )
    rows = frame.select(BOARD).unique().join(found, on=BOARD, how="left", validate="1:1").sort(BOARD)
    return rows.with_columns(pl.col("sessions").fill_null(0))
