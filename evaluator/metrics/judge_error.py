"""Compute the range of a submission's true accuracy under an assumption about the judge's errors.

The assumption is that the judge errs as often on the board as on labelled pairs. Some of these pairs are designed to
deceive the judge, so it probably errs less on the answers of most systems. The range is therefore a sensitivity
analysis, not a correction. It shows the possible size of an error and never affects the ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

import polars as pl

from evaluator.metrics.frames import BOARD
from evaluator.records import JudgeFigures


class JudgeError(NamedTuple):
    """The lowest and highest sensitivity and specificity of a judge on the sets of labelled commands, in [0, 1].

    Both rates count only commands that the judge decides. Sensitivity is the share of equivalent commands that the
    judge passes. Specificity is the share of wrong commands that the judge fails.
    """

    sensitivity: tuple[float, float]
    specificity: tuple[float, float]


def measured_error(figures: Iterable[JudgeFigures]) -> JudgeError | None:
    """Return the lowest and the highest sensitivity and specificity of one judge over its published sets of pairs.

    Return None if one of the two rates was never measured. Example: of the equivalent pairs, 26 of 26 pass in one set,
    and 101 of 114 in another. Sensitivity is 0.886 to 1.
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
    """Return the true share if an imperfect test measures `share`. The result is limited to [0, 1].

    Source: Rogan and Gladen 1978, "Estimating prevalence from the results of a screening test", American Journal of
    Epidemiology 107, 71-76.

        true = (share + specificity - 1) / (sensitivity + specificity - 1)

    Return None if the test carries no information: sensitivity + specificity - 1 is not above 0.

    >>> round(rogan_gladen(0.70, 0.95, 0.90), 4)
    0.7059
    """
    told = sensitivity + specificity - 1
    return min(1.0, max(0.0, (share + specificity - 1) / told)) if told > 0 else None


def judge_range(scores: pl.DataFrame, error: JudgeError | None) -> pl.DataFrame:
    """Return the range of each submission's true accuracy, from the error rates of the judge.

    Columns: suite, submission, judge_low and judge_high, with 0 <= judge_low <= judge_high <= 1. `rogan_gladen` runs
    four times: with the lowest and the highest sensitivity, each with the lowest and the highest specificity. judge_low
    is the smallest result for `accuracy`, a column of `scores`. judge_high is the largest result for `accuracy_upper`,
    which counts undecided tasks as passed. Both are null if the error was not measured or `rogan_gladen` returns None.

    Example: accuracy 0.7, no undecided task, sensitivity 0.9 to 1, specificity 0.8 to 1. The range is 0.625 to 0.7778.
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
