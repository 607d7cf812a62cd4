"""The length of the tasks of which a system passes half: a logistic curve of passing against a person's time.

The curve is p(pass) = 1 / (1 + exp(-(a + b · x))), with the binary logarithm x of the person's time in seconds. It is
fitted by maximum likelihood. The half length is the time at which p is one half, 2^(-a / b) seconds. Its interval is
the set of times at which the curve, within its 95 % confidence band, can be one half (Fieller 1954, "Some problems in
interval estimation", Journal of the Royal Statistical Society B 16, 175-185).

The times of tasks that no participant of a study solved are estimates. So the half length is in estimated minutes.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evaluator.metrics.frames import BOARD, first_candidates
from evaluator.records import Outcome

MIN_EACH: Final = 3
"""The minimum number of passed tasks, and of other tasks, for a fit."""

STEPS: Final = 50
TOLERANCE: Final = 1e-9
DECIMALS: Final = 1
PRIOR: Final = 1e-3
"""The weight of a prior that keeps the slope finite if one time separates all passed tasks from the others."""

Floats = NDArray[np.float64]


class HalfLengthFit(NamedTuple):
    """The time in seconds at which a system passes half of the tasks, and its 95 % interval.

    A bound is None if the data do not bound the time on this side.
    """

    half_s: float
    half_low_s: float | None
    half_high_s: float | None


def half_lengths(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the half length of each submission.

    Columns: suite, submission, half_s, half_low_s, half_high_s (in seconds).

    `frame` is a results frame. Only tasks with a person's time count. The numbers are null if fewer than three tasks
    are passed or not passed, if longer tasks are not passed less often, or if the half length is outside the range of
    the tasks' times.
    """
    tasks = first_candidates(frame).filter(pl.col("human_s").is_not_null())
    rows = []
    for (suite, submission), own in tasks.group_by(BOARD, maintain_order=True):
        passed = (own["outcome"] == Outcome.PASS.value).to_numpy()
        found = fit_half_length(own["human_s"].to_numpy(), passed)
        rows.append((suite, submission, *(found or (None, None, None))))
    numbers = dict.fromkeys(("half_s", "half_low_s", "half_high_s"), pl.Float64)
    schema = {name: frame.schema[name] for name in BOARD} | numbers
    return pl.DataFrame(rows, schema, orient="row").sort(BOARD)


def fit_half_length(seconds: Floats, passed: NDArray[np.bool_]) -> HalfLengthFit | None:
    """Return the half length for tasks with these times, or None (see `half_lengths`).

    Two tasks of each length are passed by 2, 2, 1, 0 and 0 of 2: half of the tasks of 16 s are passed.

    >>> seconds = np.repeat([4.0, 8.0, 16.0, 32.0, 64.0], 2)
    >>> round(fit_half_length(seconds, np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0], dtype=bool)).half_s, 1)
    16.0
    """
    if min(passed.sum(), (~passed).sum()) < MIN_EACH:
        return None
    x = np.log2(seconds)
    centre = float(x.mean())
    design = np.column_stack([np.ones_like(x), x - centre])
    weights, covariance = _fit(design, passed.astype(np.float64))
    a, b = weights
    if b >= 0 or not np.isfinite(covariance).all():
        return None
    middle = float(centre - a / b)
    if not x.min() <= middle <= x.max():
        return None
    half = 2**middle
    low, high = _fieller(float(a), float(b), covariance)
    bounds = (None if bound is None else round(float(2 ** (centre + bound)), DECIMALS) for bound in (low, high))
    return HalfLengthFit(round(half, DECIMALS), *bounds)


def _fit(design: Floats, passed: Floats) -> tuple[Floats, Floats]:
    """Return the weights of the logistic curve and their covariance, by Newton's method."""
    weights: Floats = np.zeros(design.shape[1])
    information: Floats = np.eye(design.shape[1])
    prior = np.diag([0.0, PRIOR])
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        information = design.T @ (design * (share * (1 - share))[:, None]) + prior
        step = np.linalg.solve(information, design.T @ (passed - share) - prior @ weights)
        weights = weights + np.clip(step, -2, 2)
        if np.abs(step).max() < TOLERANCE:
            break
    return weights, np.asarray(np.linalg.inv(information), dtype=np.float64)


def _fieller(a: float, b: float, covariance: Floats) -> tuple[float | None, float | None]:
    """Return the bounds of -a / b by Fieller's method, for b < 0. A bound is None if there is none on that side.

    They solve (a + b·x)² = z² · (var(a) + 2·x·cov(a, b) + x²·var(b)). If b differs from 0 only by chance, the set of
    solutions is not an interval, and there are no bounds.
    """
    z = NormalDist().inv_cdf(0.975)
    (aa, ab), (_, bb) = z * z * covariance
    square, linear, constant = b * b - bb, 2 * (a * b - ab), a * a - aa
    root = linear * linear - 4 * square * constant
    if square <= 0 or root < 0:
        return None, None
    width = float(np.sqrt(root))
    return (-linear - width) / (2 * square), (-linear + width) / (2 * square)
