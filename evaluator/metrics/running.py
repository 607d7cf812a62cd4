"""Shares of first candidates that run well: valid syntax, no missing program, exit status 0, empty standard error."""

from __future__ import annotations

from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates

RATES: Final = ("valid", "runnable", "exit_zero", "clean_stderr")


def running_rates(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns suite, submission, valid, runnable, exit_zero, clean_stderr and measured.

    The rates are shares in [0, 1] of the `measured` tasks, or null if `measured` is 0. A task is measured if its first
    candidate has evidence. If no shell could run the candidate (no command, only blanks, a NUL byte), the task is also
    measured, and counts against every rate. The conditions must hold in the first variant:

        valid         the shell reported no syntax error
        runnable      valid, the exit status is neither 126 nor 127, and no shell reported a missing program
        exit_zero     the exit status is 0
        clean_stderr  standard error is empty

        rate = first candidates that meet the condition / first candidates measured

    Example: `ls`, `lss` and no command for three tasks give valid 2/3, runnable 1/3, exit_zero 1/3, clean_stderr 1/3.
    """
    rates = [pl.col(name).mean() for name in RATES]
    measured = pl.col("valid").is_not_null().sum().cast(pl.Int64).alias("measured")
    return first_candidates(frame).group_by(BOARD).agg(*rates, measured).sort(BOARD)
