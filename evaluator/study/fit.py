"""What measurements come to: a median for each task, and how well a line over tokens tells it.

A measurement counts where the task was passed. One participant counts once a task, the first time. Where a task has
five measurements or more, those are left out whose logarithm is further than three scaled median absolute
deviations from the median's (Leys et al. 2013, "Detecting outliers: Do not use standard deviation around the mean,
use absolute deviation around the median", Journal of Experimental Social Psychology 49, 764-766): somebody was
called away. Times are compared as ratios because they are skewed to the right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt, PositiveFloat

from evaluator.records import Identifier, Measurement, Record

FEWEST_FOR_OUTLIERS: Final = 5
DEVIATIONS: Final = 3.0
NORMAL: Final = 1.4826
"""Times this, a median absolute deviation of normal data is their standard deviation."""
FEWEST_TASKS: Final = 3
"""Through two points there is always a line."""

Floats = NDArray[np.float64]


class TaskTime(Record):
    """A task's median over `measurements` people; `outliers` were left out, `skipped` gave up."""

    task: Identifier
    tokens: NonNegativeInt
    median_s: PositiveFloat
    measurements: NonNegativeInt
    outliers: NonNegativeInt = 0
    skipped: NonNegativeInt = 0


class Line(Record):
    """seconds = `a` + `b` · tokens, and the share `r2` of the medians' variance that it explains.

    r2 = 1 - Σ (seconds - line)² ÷ Σ (seconds - mean)², at most 1 and below 0 where the mean itself tells more;
    None where all medians are equal.
    """

    a: float
    b: float
    r2: float | None


class Fit(Record):
    """A study's outcome over `n` tasks of `participants` people; no lines where there are too few tasks.

    `least_squares` fits the medians; `theil_sen` does so with a quarter of the tasks being anything (Sen 1968);
    `present` is the estimate in use. `left_out` counts measurements by why they tell nothing.
    """

    participants: NonNegativeInt
    n: NonNegativeInt
    least_squares: Line | None
    theil_sen: Line | None
    present: Line | None
    left_out: Mapping[str, NonNegativeInt]
    tasks: tuple[TaskTime, ...]


def task_times(measurements: Iterable[Measurement], tokens: Mapping[str, int]) -> tuple[TaskTime, ...]:
    """Medians of the tasks that somebody passed, by id. `tokens` names every task there may be."""
    first: dict[tuple[str, str], Measurement] = {}
    for each in measurements:
        first.setdefault((each.task, each.participant), each)
    times = []
    for task in sorted({task for task, _ in first}):
        own = [each for (name, _), each in first.items() if name == task]
        passed = np.array(sorted(each.seconds for each in own if each.passed and each.seconds > 0))
        if passed.size:
            kept = without_outliers(passed)
            times.append(
                TaskTime(
                    task=task,
                    tokens=tokens[task],
                    median_s=round(float(np.median(kept)), 3),
                    measurements=kept.size,
                    outliers=passed.size - kept.size,
                    skipped=sum(not each.passed for each in own),
                )
            )
    return tuple(times)


def without_outliers(seconds: Floats) -> Floats:
    """The seconds that are no outliers, by this module's rule; (n,) to (m,), m ≤ n.

    >>> without_outliers(np.array([9.0, 10.0, 10.5, 11.0, 12.0, 600.0])).tolist()
    [9.0, 10.0, 10.5, 11.0, 12.0]
    """
    if seconds.size < FEWEST_FOR_OUTLIERS:
        return seconds
    away = np.abs(np.log(seconds) - np.median(np.log(seconds)))
    scale = NORMAL * float(np.median(away))
    return seconds[away <= DEVIATIONS * scale] if scale > 0 else seconds


def fit_lines(times: Sequence[TaskTime]) -> tuple[Line, Line] | tuple[None, None]:
    """Least squares and Theil-Sen lines; none where fewer than three tasks, or all of one length, were measured."""
    tokens = np.array([each.tokens for each in times], dtype=np.float64)
    if tokens.size < FEWEST_TASKS or np.ptp(tokens) == 0:
        return None, None
    from scipy.stats import linregress, theilslopes

    seconds = np.array([each.median_s for each in times])
    square, robust = linregress(tokens, seconds), theilslopes(seconds, tokens)
    return (
        line(float(square.intercept), float(square.slope), times),
        line(float(robust.intercept), float(robust.slope), times),
    )


def line(a: float, b: float, times: Sequence[TaskTime]) -> Line:
    """The line a + b · tokens with the r2 it has on these tasks."""
    tokens = np.array([each.tokens for each in times], dtype=np.float64)
    seconds = np.array([each.median_s for each in times])
    total = float(((seconds - seconds.mean()) ** 2).sum())
    rest = float(((seconds - a - b * tokens) ** 2).sum())
    return Line(a=round(a, 4), b=round(b, 4), r2=round(1 - rest / total, 4) if total else None)
