"""Calibration: the agreement between the confidence of a submission's first candidates and the share that passes.

Only first candidates with a verdict count. An unanswered task has no confidence, and an infra-error is not the
submission's fault. A candidate without a confidence gets the default of 1. A submission without any confidence
therefore has a calibration error of 1 minus the share that passes.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from evaluator.metrics.frames import BOARD, first_candidates
from evaluator.records import Outcome

BINS: Final = 10
_SILENT: Final = (Outcome.UNANSWERED.value, Outcome.INFRA_ERROR.value)


def calibration(frame: pl.DataFrame, bins: int = BINS) -> pl.DataFrame:
    """Return the columns suite, submission, ece, brier and calibrated_on.

    `calibrated_on` is the number of candidates used. `ece` and `brier` are in [0, 1], and 0 is best. Both are null if
    `calibrated_on` is 0.

    Expected calibration error (Guo et al. 2017, "On Calibration of Modern Neural Networks", ICML) uses bins of equal
    width: (0, 0.1], (0.1, 0.2], .... The value 0 is in the first bin. The error is the distance between accuracy and
    mean confidence in each bin, weighted by the number of candidates in the bin. The Brier score (Brier 1950,
    "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78) is the mean squared
    distance between confidence and outcome.

        ECE = sum over bins of n_b / n * |passed_b / n_b - mean confidence_b|      Brier = mean of (c - passed)^2

    Example: confidences 0.9, 0.9 and 0.4, and only the first candidate passed. ECE = 2/3 * |1/2 - 0.9| + 1/3 * |0 -
    0.4| = 0.4, Brier = (0.01 + 0.81 + 0.16) / 3 = 0.3267.
    """
    stated = (
        first_candidates(frame)
        .filter(~pl.col("outcome").is_in(_SILENT))
        .select(
            *BOARD,
            "confidence",
            (pl.col("outcome") == Outcome.PASS.value).cast(pl.Float64).alias("passed"),
            ((pl.col("confidence") * bins).ceil().cast(pl.Int32) - 1).clip(0, bins - 1).alias("bin"),
        )
    )
    distance = (pl.col("passed") - pl.col("confidence")).sum().abs()
    squares = ((pl.col("confidence") - pl.col("passed")) ** 2).sum()
    binned = (
        stated.sort(*BOARD, "bin", "confidence", "passed")
        .group_by(*BOARD, "bin", maintain_order=True)
        .agg(pl.len().alias("n"), distance.alias("distance"), squares.alias("squares"))
        .group_by(BOARD, maintain_order=True)
        .agg(pl.col("n", "distance", "squares").sum())
    )
    whole = frame.select(BOARD).unique().join(binned, on=BOARD, how="left", validate="1:1")
    n = pl.col("n")
    return whole.select(
        *BOARD,
        (pl.col("distance") / n).clip(0, 1).alias("ece"),
        (pl.col("squares") / n).clip(0, 1).alias("brier"),
        n.fill_null(0).cast(pl.Int64).alias("calibrated_on"),
    ).sort(BOARD)
