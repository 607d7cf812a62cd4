"""How first candidates ran, right or wrong: read by the shell, found and started, ended well, in silence."""

from __future__ import annotations

from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates

RATES: Final = ("valid", "runnable", "exit_zero", "clean_stderr")


def running_rates(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns suite, submission, valid, runnable, exit_zero, clean_stderr, measured.

    Shares in [0, 1] of the `measured` tasks asked: those whose first candidate has evidence in every variant, or
    needs none because no shell could be given it (nothing, blanks, a NUL byte), which counts against every rate.
    Null where `measured` is 0. In every variant: the shell reported no syntax error (`valid`); also its exit status
    is neither 126 nor 127 and no shell said that a program was not found (`runnable`); its exit status is 0
    (`exit_zero`); nothing stands on standard error (`clean_stderr`). The first is never below the second.

        rate = first candidates that are so in every variant / first candidates measured

    `ls`, `lss` and nothing, for three tasks: valid 2/3, runnable 1/3, exit_zero 1/3, clean_stderr 1/3.
    """
    rates = [pl.col(name).mean() for name in RATES]
    measured = pl.col("valid").is_not_null().sum().cast(pl.Int64).alias("measured")
    return first_candidates(frame).group_by(BOARD).agg(*rates, measured).sort(BOARD)
