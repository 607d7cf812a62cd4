"""This module computes the median time of each task, and a line that predicts this time from the task's size.

Only the first measurement of each participant and task counts, and only if the participant passed. If a task has five
or more measurements, outliers such as times with an interruption are removed. An outlier's logarithm is further than
three scaled median absolute deviations from the median of the logarithms (Leys et al. 2013, "Detecting outliers: Do not
use standard deviation around the mean, use absolute deviation around the median", Journal of Experimental Social
Psychology 49, 764-766). Logarithms are used because the times are skewed to the right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt, PositiveFloat

from evaluator.records import Identifier, Measurement, Record

MIN_FOR_OUTLIERS: Final = 5
DEVIATIONS: Final = 3.0
NORMAL: Final = 1.4826
"""The factor from the median absolute deviation of normally distributed data to its standard deviation."""
MIN_TASKS: Final = 3
"""The minimum number of tasks for a fit, since a line through two points always fits."""

Floats = NDArray[np.float64]


class TaskTime(Record):
    """The median time that the participants of a study needed for a task, in seconds. `size` is that of the task.

    `measurements` is the number of times from which the median is computed. `outliers` is the number of times that were
    removed before. `skipped` is the number of participants that skipped the task.
    """

    task: Identifier
    size: PositiveFloat
    median_s: PositiveFloat
    measurements: NonNegativeInt
    outliers: NonNegativeInt = 0
    skipped: NonNegativeInt = 0


class Line(Record):
    """A line that predicts the median time of a task from its size: seconds = `a` + `b` · size.

    `r2` is the coefficient of determination for the tasks' median times: 1 - Σ (seconds - line)² ÷ Σ (seconds - mean)².
    It is 1 for a perfect line, and None if all median times are equal.
    """

    a: float
    b: float
    r2: float | None


class Fit(Record):
    """The result of a study of `n` tasks with `participants` people. A line is None if there are too few tasks.

    `least_squares` and `theil_sen` are lines through the median times of the tasks. `theil_sen` stays useful if up to a
    quarter of the median times are wrong (Sen 1968). `present` is the line in use now, with its r2 for these tasks.
    `left_out` maps each reason for ignoring a measurement to the number of these measurements.
    """

    participants: NonNegativeInt
    n: NonNegativeInt
    least_squares: Line | None
    theil_sen: Line | None
    present: Line | None
    left_out: Mapping[str, NonNegativeInt]
    tasks: tuple[TaskTime, ...]


def task_times(measurements: Iterable[Measurement], sizes: Mapping[str, float]) -> tuple[TaskTime, ...]:
    """Return the median time of each task that a participant passed. `sizes` maps task ids to sizes."""
    first: dict[tuple[str, str], Measurement] = {}
    for row in measurements:
        first.setdefault((row.task, row.participant), row)
    times = []
    for task in sorted({task for task, _ in first}):
        of_task = [row for (name, _), row in first.items() if name == task]
        passed = np.array(sorted(row.seconds for row in of_task if row.passed and row.seconds > 0))
        if passed.size:
            inliers = without_outliers(passed)
            times.append(
                TaskTime(
                    task=task,
                    size=sizes[task],
                    median_s=round(float(np.median(inliers)), 3),
                    measurements=inliers.size,
                    outliers=passed.size - inliers.size,
                    skipped=sum(not row.passed for row in of_task),
                )
            )
    return tuple(times)


def without_outliers(seconds: Floats) -> Floats:
    """Remove outliers from the times of one task, if there are at least five times.

    The logarithm of an outlier is further than three scaled median absolute deviations from the median logarithm.

    >>> without_outliers(np.array([9.0, 10.0, 10.5, 11.0, 12.0, 600.0])).tolist()
    [9.0, 10.0, 10.5, 11.0, 12.0]
    """
    if seconds.size < MIN_FOR_OUTLIERS:
        return seconds
    deviations = np.abs(np.log(seconds) - np.median(np.log(seconds)))
    scale = NORMAL * float(np.median(deviations))
    return seconds[deviations <= DEVIATIONS * scale] if scale > 0 else seconds


def fit_lines(times: Sequence[TaskTime]) -> tuple[Line, Line] | tuple[None, None]:
    """Return the least-squares and the Theil-Sen line through the median times of these tasks.

    Both are None if there are fewer than three tasks, or if all tasks have the same size.
    """
    sizes = np.array([task.size for task in times])
    if sizes.size < MIN_TASKS or np.ptp(sizes) == 0:
        return None, None
    from scipy.stats import linregress, theilslopes

    seconds = np.array([task.median_s for task in times])
    least_squares, theil_sen = linregress(sizes, seconds), theilslopes(seconds, sizes)
    return (
        line(float(least_squares.intercept), float(least_squares.slope), times),
        line(float(theil_sen.intercept), float(theil_sen.slope), times),
    )


def line(a: float, b: float, times: Sequence[TaskTime]) -> Line:
    """Return the line a + b · size with the r2 of this line for the median times of these tasks."""
    sizes = np.array([task.size for task in times])
    seconds = np.array([task.median_s for task in times])
    total = float(((seconds - seconds.mean()) ** 2).sum())
    residual = float(((seconds - a - b * sizes) ** 2).sum())
    return Line(a=round(a, 4), b=round(b, 4), r2=round(1 - residual / total, 4) if total else None)
