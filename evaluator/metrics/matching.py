"""Metrics of candidates that repeat the text of a reference: full-command accuracy, template accuracy, verbatim rate.

These metrics need no execution. A command with a different text may still be right, so full-command accuracy
underestimates execution accuracy. The module `texts` defines when two texts are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from evaluator.metrics.accuracy import CANDIDATES_AT
from evaluator.metrics.frames import BOARD, first_candidates


def matched_at(frame: pl.DataFrame, column: str, candidates: Sequence[int] = CANDIDATES_AT) -> pl.DataFrame:
    """Return the share of asked tasks with a match in the first k candidates: columns suite, submission, `column`.

    `column` is `full_command` (accuracy of the full command, Acc_F of Lin et al. 2018) or `template` (Acc_T). In
    `frame`, this column tells whether a candidate matches. In the result, it is a list of {k, share}, or null if a
    candidate's text was not compared. Shares are in [0, 1] and never decrease with k.

        accuracy at k = tasks with a match among the first k candidates / tasks asked

    Example: in one of two tasks, only the second candidate matches. In the other task, no candidate matches. The share
    is 0 at k = 1 and 1/2 at k = 3 and k = 5.
    """
    first = pl.col("rank").filter(pl.col(column)).min()
    tasks = frame.group_by(*BOARD, "task").agg(
        first.fill_null(max(candidates, default=0) + 1).alias("first"), pl.col(column).is_null().any().alias("unknown")
    )
    shares = [
        pl.struct(pl.lit(k, pl.Int32).alias("k"), (pl.col("first") <= k).mean().alias("share")) for k in candidates
    ]
    known = pl.when(~pl.col("unknown").any()).then(pl.concat_list(shares)).alias(column)
    return tasks.group_by(BOARD).agg(known).sort(BOARD)


MARKS: Final = ("holds_reference", "encoded_literal", "state_descriptor", "stored_output")
"""The columns of the marks, which tell what answers are made of."""


def mark_rates(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the share of first candidates with each mark: columns suite, submission, and one column for each mark.

    The shares are in [0, 1], and their denominator is the tasks asked. A share is null if no candidate was examined for
    the mark. Marks change no verdict. `unreadable` is the number of first candidates that no parser reads.

        rate of a mark = first candidates with the mark / tasks asked

    Example: one of four answers holds the expected output of a variant. The rate of `stored_output` is 1/4.
    """
    unreadable = pl.when(pl.col("unreadable").is_not_null().any()).then(pl.col("unreadable").sum()).alias("unreadable")
    return first_candidates(frame).group_by(BOARD).agg(*map(_mark_rate, MARKS), unreadable).sort(BOARD)


def _mark_rate(mark: str) -> pl.Expr:
    return pl.when(pl.col(mark).is_not_null().any()).then(pl.col(mark).sum() / pl.len()).alias(mark)


def verbatim_rate(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the share of first candidates that repeat a reference: columns suite, submission, verbatim.

    A command repeats a reference if both have the same canonical form (see `shell/canonical.py`).

    The share is in [0, 1], and its denominator is the tasks asked. It is null if the texts of any task were not
    compared. References are public, so a board shows the share of answers that repeat a reference. A high share alone
    proves nothing, because short commands have one natural spelling.

        verbatim = first candidates that are a reference / tasks asked

    Example: `ls -l` and `ls -la` answer two tasks with `ls -l` as the only reference. The share is 1/2.
    """
    whole = pl.when(~pl.col("verbatim").is_null().any()).then(pl.col("verbatim").mean())
    return first_candidates(frame).group_by(BOARD).agg(whole.alias("verbatim")).sort(BOARD)
