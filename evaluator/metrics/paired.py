"""This module tests whether the difference between two submissions in passed tasks is statistically significant.

Only the *discordant* tasks, which one submission passes and the other does not, show which submission is better.
McNemar's test asks whether the two submissions' counts of such tasks could differ only by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist, median
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evaluator.records import DetectableDifference

LEVEL: Final = 0.05
"""Largest p-value at which two systems count as significantly different."""
POWER: Final = 0.8
"""Probability with which the test must find a detectable difference."""
INTERVAL_LEVEL: Final = 0.95


@lru_cache(maxsize=65_536)
def mcnemar_p(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p-value of McNemar's test: twice the smaller binomial tail at 1/2, at most 1.

    McNemar 1947, "Note on the sampling error of the difference between correlated proportions or percentages",
    Psychometrika 12, 153-157, with the binomial distribution instead of the chi-squared distribution. With b and c
    discordant tasks and m = b + c: min(1, 2 Σ C(m, i) / 2^m over i from 0 to min(b, c)). Integers are used, so that
    every machine gives the same value. Without a discordant task, the p-value is 1. Examples: b = 1 and c = 9 give
    22/1024 = 0.0215. b = 0 and c = 5 give 0.0625.
    """
    fewer, total = min(only_first, only_second), only_first + only_second
    tail = term = 1
    for taken in range(fewer):
        term = term * (total - taken) // (taken + 1)
        tail += term
    p_value: float = 2 * tail / 2**total
    return min(1.0, p_value)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for multiple comparisons, in the order of the input.

    Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 65-70:
    of n p-values, the smallest is multiplied by n, the second smallest by n - 1, and so on. An adjusted value is at
    most 1, and at least as large as the adjusted value of any smaller p-value. Example: [0.01, 0.04, 0.03] becomes
    [0.03, 0.06, 0.06].
    """
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


class Counts(NamedTuple):
    """Numbers of tasks of two submissions: both pass, only the first passes, only the second passes, neither passes."""

    both: int = 0
    only_first: int = 0
    only_second: int = 0
    neither: int = 0

    @property
    def tasks(self) -> int:
        """Return the number of tasks on which the two submissions are compared."""
        return sum(self)

    @property
    def difference(self) -> float:
        """The first submission's share of passed tasks minus the share of the second, or 0 without tasks."""
        return (self.only_first - self.only_second) / self.tasks if self.tasks else 0.0

    @property
    def p_value(self) -> float:
        """Return the p-value of McNemar's test for these counts (see `mcnemar_p`)."""
        return mcnemar_p(self.only_first, self.only_second)


class MeanCounts(NamedTuple):
    """The fields of `Counts` as means over several pairs of runs of two systems. Their sum is the number of tasks.

    They are fractions, because rounded numbers could add up to more passed tasks than there are.
    """

    both: Fraction
    only_first: Fraction
    only_second: Fraction
    neither: Fraction

    @property
    def tasks(self) -> int:
        """Return the number of tasks on which the two systems are compared."""
        return int(sum(self))

    @property
    def difference(self) -> float:
        """The first system's mean share of passed tasks minus that of the second, or 0 without tasks."""
        return float((self.only_first - self.only_second) / self.tasks) if self.tasks else 0.0


def difference_interval(counts: Counts | MeanCounts, level: float = INTERVAL_LEVEL) -> tuple[float, float]:
    """Return a confidence interval, in [-1, 1], for the difference between two submissions' shares of passed tasks.

    Source: method 10 of Newcombe 1998, "Improved confidence intervals for the difference between binomial proportions
    based on paired data", Statistics in Medicine 17, 2635-2650. p₁ and p₂ are the shares, d = p₁ - p₂ is their
    difference, l and u are Wilson's bounds of a share, and φ is the result of `_correlation`:

        from d - √((p₁ - l₁)² - 2φ(p₁ - l₁)(u₂ - p₂) + (u₂ - p₂)²)
        to   d + √((u₁ - p₁)² - 2φ(u₁ - p₁)(p₂ - l₂) + (p₂ - l₂)²)

    Without a task, the interval is (-1, 1). Example: both pass 1 task, only the first passes 1, only the second passes
    7, neither passes 12. The difference is -0.286, and the interval is -0.507 to -0.026.

    For mean counts, the interval is that of a single pair of runs with these counts. It is rather too wide, because the
    mean of a task over several runs varies no more between tasks than the result of a single run.
    """
    total = counts.tasks
    if not total:
        return -1.0, 1.0
    passed = (counts.both + counts.only_first, counts.both + counts.only_second)
    (below_1, above_1), (below_2, above_2) = (_wilson_reach(each, total, level) for each in passed)
    phi = _correlation(counts)
    low = counts.difference - math.sqrt(max(0.0, below_1**2 - 2 * phi * below_1 * above_2 + above_2**2))
    high = counts.difference + math.sqrt(max(0.0, above_1**2 - 2 * phi * above_1 * below_2 + below_2**2))
    return max(-1.0, low), min(1.0, high)


def _wilson_reach(passed: int | Fraction, total: int, level: float) -> tuple[float, float]:
    """Return the distances from a share to its lower Wilson bound and to its upper Wilson bound."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = float(passed) / total
    centre = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return share - max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale) - share


def _correlation(counts: Counts | MeanCounts) -> float:
    """Return the correlation φ between the passes of two submissions, with a correction for continuity.

    φ is (both * neither - only_first * only_second) / √(product of the four marginal counts). If the numerator is
    positive, half the number of tasks is subtracted from it, down to 0 at least.
    """
    first, second = counts.both + counts.only_first, counts.both + counts.only_second
    margins = first * (counts.tasks - first) * second * (counts.tasks - second)
    if not margins:
        return 0.0
    product = float(counts.both * counts.neither - counts.only_first * counts.only_second)
    if product > 0:
        product = max(0.0, product - counts.tasks / 2)
    return product / math.sqrt(margins)


class Tie(NamedTuple):
    """A submission's tie group, counted from 1, with the comparison behind it. The fields are those of a standing.

    `compared_with` is the best submission of the group. For the best submission itself, it is the best submission of
    the previous, more accurate group, or None in the first group. `only_this` and `only_other` count the discordant
    tasks of this comparison.
    """

    submission: str
    tie_group: int
    compared_with: str | None = None
    only_this: int | None = None
    only_other: int | None = None
    p_value: float | None = None
    p_adjusted: float | None = None


def tie_groups(passes: pl.DataFrame, order: Sequence[str], level: float = LEVEL) -> tuple[Tie, ...]:
    """Return the tie group of each submission. No member differs significantly from the best of its group.

    `order` has the best submission first. `passes` has the columns submission, task and passed, with a row for every
    task of every submission in `order`. The best of a group is compared with every submission below it, and the
    p-values of these comparisons are adjusted together. The first submission that differs significantly is the best of
    the next group.
    """
    if not order:
        return ()
    matrix = _matrix(passes, order)
    ties = [Tie(order[0], 1)]
    while len(ties) < len(order):
        best, group = len(ties) - 1, ties[-1].tie_group
        below = _against(matrix, order, best, group)
        apart = next((place for place, tie in enumerate(below) if (tie.p_adjusted or 0.0) <= level), len(below))
        ties += below[:apart]
        ties += [tie._replace(tie_group=group + 1) for tie in below[apart : apart + 1]]
    return tuple(ties)


def _against(matrix: NDArray[np.bool_], order: Sequence[str], best: int, group: int) -> list[Tie]:
    """Compare the best submission of a group with every submission below it. Return a tie for each comparison."""
    rest = matrix[best + 1 :]
    only_this = (rest & ~matrix[best]).sum(axis=1).tolist()
    only_other = (matrix[best] & ~rest).sum(axis=1).tolist()
    p_values = [mcnemar_p(this, other) for this, other in zip(only_this, only_other, strict=True)]
    columns = zip(order[best + 1 :], only_this, only_other, p_values, holm(p_values), strict=True)
    return [Tie(slug, group, order[best], this, other, p, adjusted) for slug, this, other, p, adjusted in columns]


def _matrix(passes: pl.DataFrame, order: Sequence[str]) -> NDArray[np.bool_]:
    """Return the passes of all submissions as a matrix of shape (submissions, tasks).

    Submissions have the order of `order`. Tasks have the same order for all submissions.
    """
    places = pl.DataFrame({"submission": list(order), "place": range(len(order))}, schema_overrides={"place": pl.Int64})
    rows = passes.join(places, on="submission", how="inner").sort("task", "place")
    return rows["passed"].to_numpy().reshape(-1, len(order)).T


def resolution(ties: Sequence[Tie], tasks: int) -> DetectableDifference | None:
    """Return the smallest difference in accuracy that a suite with `tasks` tasks can detect.

    The calculation assumes a typical share of discordant tasks: the median over all compared pairs in `ties`. Return
    None if no pair was compared.
    """
    shares = [(tie.only_this + (tie.only_other or 0)) / tasks for tie in ties if tie.only_this is not None]
    if not shares:
        return None
    discordance = median(shares)
    return DetectableDifference(
        tasks=tasks, discordance=discordance, difference=detectable_difference(tasks, discordance)
    )


def detectable_difference(tasks: int, discordance: float, power: float = POWER, level: float = LEVEL) -> float | None:
    """Return the smallest difference in accuracy that McNemar's test detects with this power.

    Return None if no difference reaches the power. The power is exact (Duffy 1984, "Asymptotic and exact power for the
    McNemar test and its analogue with R controls per case", Biometrics 40, 1005-1015). For n tasks and a difference d:

        ψ = max(discordance, d), the share of discordant tasks
        θ = (1 + d / ψ) / 2, the probability that the better submission passes a discordant task
        m of n tasks are discordant with probability C(n, m) ψᵐ (1 - ψ)ⁿ⁻ᵐ
        the better submission passes b of these m with probability C(m, b) θᵇ (1 - θ)ᵐ⁻ᵇ

    The power is the probability of a p-value of `level` or less. Example: 300 tasks, of which a fifth are discordant,
    give 23 tasks or 7.7 points.
    """
    low, high = 0, tasks  # `low` always has too little power, and `high` always has enough.
    if tasks < 1 or _power(tasks, discordance, 1.0, level) < power:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(tasks, discordance, middle / tasks, level) >= power else (middle, high)
    return high / tasks


def _power(tasks: int, discordance: float, difference: float, level: float) -> float:
    psi = max(discordance, difference)
    theta = (1 + difference / psi) / 2
    spread = 8 * math.sqrt(tasks * psi * (1 - psi)) + 1
    counts = range(max(1, math.floor(tasks * psi - spread)), min(tasks, math.ceil(tasks * psi + spread)) + 1)
    chances = _binomial(tasks, psi)
    return float(sum(chances[total] * _found(total, theta, level) for total in counts))


def _found(total: int, theta: float, level: float) -> float:
    """Return the probability that McNemar's test gives a significant result for `total` discordant tasks.

    The better submission passes each of these tasks with probability theta.
    """
    most = _critical(total, level)
    if most < 0:
        return 0.0
    chances = _binomial(total, theta)
    return float(chances[: most + 1].sum() + chances[total - most :].sum())


@lru_cache(maxsize=65_536)
def _critical(total: int, level: float) -> int:
    """Return the largest number of passes with which a submission is still significantly worse than the other.

    Only `total` discordant tasks count. Return -1 if even a submission with no passes is not significantly worse.
    """
    return int(np.searchsorted(2 * _binomial(total, 0.5).cumsum(), level, side="right")) - 1


def _binomial(count: int, chance: float) -> NDArray[np.float64]:
    """Return the probabilities of 0 to `count` successes in `count` trials that succeed with probability `chance`."""
    if chance <= 0 or chance >= 1:
        sure = np.zeros(count + 1)
        sure[0 if chance <= 0 else count] = 1.0
        return sure
    successes = np.arange(count + 1)
    factorials = np.cumsum(np.log(np.maximum(successes, 1)))
    logs = factorials[count] - factorials - factorials[::-1]
    found: NDArray[np.float64] = np.exp(logs + successes * math.log(chance) + (count - successes) * math.log1p(-chance))
    return found


PAIR_SCHEMA: Final = {"task": pl.String, "first": pl.Boolean, "second": pl.Boolean}


def paired_passes(passes: pl.DataFrame, first: str, second: str) -> pl.DataFrame:
    """Return a row for each task that both submissions have: columns task, first, second (Boolean). Sort the rows.

    `passes` has the columns submission, task and passed. The caller leaves out results without a verdict.
    """
    one, other = (
        passes.filter(pl.col("submission") == slug).select("task", pl.col("passed").alias(name))
        for slug, name in ((first, "first"), (second, "second"))
    )
    return one.join(other, on="task", validate="1:1").select(*PAIR_SCHEMA).sort("task")


def paired_counts(pairs: pl.DataFrame) -> Counts:
    """Count the tasks by result (both pass, only one passes, neither passes) in a frame from `paired_passes`."""
    first, second = pairs["first"], pairs["second"]
    both = int((first & second).sum())
    only_first, only_second = int(first.sum()) - both, int(second.sum()) - both
    return Counts(both, only_first, only_second, pairs.height - both - only_first - only_second)


def paired_counts_by(pairs: pl.DataFrame, groups: pl.DataFrame) -> dict[str, Counts]:
    """Count the tasks by result, as in `paired_counts`, for each group of tasks. Groups are sorted by name.

    `groups` has the columns task and group. A task can be in several groups, with one row for each.
    """
    parts = pairs.join(groups, on="task").partition_by("group", as_dict=True)
    return {str(name): paired_counts(rows) for (name,), rows in sorted(parts.items())}
