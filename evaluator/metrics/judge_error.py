"""What accuracy would be if the judge errs on the board as often as it did on pairs whose label is known.

A sensitivity analysis, not a correction: a judge errs more on commands made to deceive it than on most systems'
answers, so its rates there are no estimate for a board. They say how far a figure may be off, and never rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

import polars as pl

from evaluator.metrics.frames import BOARD
from evaluator.records import JudgeFigures


class JudgeError(NamedTuple):
    """The lowest and the highest sensitivity and specificity that a judge showed on any set of pairs, in [0, 1].

    Sensitivity is the share of equivalent commands that it passes, specificity that of wrong ones that it fails,
    each of what it decides.
    """

    sensitivity: tuple[float, float]
    specificity: tuple[float, float]


def measured_error(figures: Iterable[JudgeFigures]) -> JudgeError | None:
    """The range of one judge's rates over its published sets of pairs; None where either was never measured.

    26 equivalent pairs passed and none failed in one set, 101 and 13 in another: sensitivity from 0.886 to 1.
    """
    sets = list(figures)
    sensitivity = [_share(each.equivalent_passed, each.equivalent_failed) for each in sets]
    specificity = [_share(each.wrong_failed, each.wrong_passed) for each in sets]
    right, wrong = ([each for each in found if each is not None] for found in (sensitivity, specificity))
    if not right or not wrong:
        return None
    return JudgeError((min(right), max(right)), (min(wrong), max(wrong)))


def _share(part: int, rest: int) -> float | None:
    return part / (part + rest) if part + rest else None


def rogan_gladen(share: float, sensitivity: float, specificity: float) -> float | None:
    """The true share behind one that an imperfect test shows, in [0, 1] (Rogan and Gladen 1978, "Estimating prevalence
    from the results of a screening test", American Journal of Epidemiology 107, 71-76).

        true = (share + specificity - 1) / (sensitivity + specificity - 1)

    cut to [0, 1]; None where the test tells nothing (the divisor is not above 0).

    >>> round(rogan_gladen(0.70, 0.95, 0.90), 4)
    0.7059
    """
    told = sensitivity + specificity - 1
    return min(1.0, max(0.0, (share + specificity - 1) / told)) if told > 0 else None


def judge_range(scores: pl.DataFrame, error: JudgeError | None) -> pl.DataFrame:
    """Columns suite, submission, judge_low, judge_high in [0, 1], low <= high; null where nothing was measured or the
    judge tells nothing.

    `scores` has the columns accuracy and accuracy_upper. `rogan_gladen` at every corner of the error's ranges: the low
    end counts the undecided as not passed, the high end as passed.

    Accuracy 0.7, nothing undecided, sensitivity from 0.9 to 1 and specificity from 0.8 to 1: from 0.625 to 0.7778.
    """
    rows = scores.select(*BOARD, "accuracy", "accuracy_upper").sort(BOARD)
    low = [_corners(share, error, min) for share in rows["accuracy"]]
    high = [_corners(share, error, max) for share in rows["accuracy_upper"]]
    bounds = (pl.Series("judge_low", low, pl.Float64), pl.Series("judge_high", high, pl.Float64))
    return rows.select(BOARD).with_columns(*bounds)


def _corners(share: float, error: JudgeError | None, choose: Callable[[list[float]], float]) -> float | None:
    if error is None:
        return None
    found = [rogan_gladen(share, *rates) for rates in product(error.sensitivity, error.specificity)]
    told = [each for each in found if each is not None]
    return choose(told) if len(told) == len(found) else None
