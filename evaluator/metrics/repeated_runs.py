"""Repeated runs of one system: the spread of their accuracies, and the comparison of two systems over all their runs.

A single run of a model hides how much its accuracy depends on chance. Reimers and Gurevych 2017, "Reporting Score
Distributions Makes a Difference: Performance Study of LSTM-networks for Sequence Tagging", EMNLP, 338-348, report the
distribution over several runs instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from statistics import fmean, stdev
from typing import NamedTuple

from evaluator.metrics.paired import MeanCounts


class RunSpread(NamedTuple):
    """The mean, the lowest and the highest accuracy of several runs, and their sample standard deviation.

    The standard deviation is None for a single run.
    """

    mean: float
    lowest: float
    highest: float
    deviation: float | None


def run_spread(accuracies: Sequence[float]) -> RunSpread:
    """Return the spread of the accuracies of one or more runs.

    The sample standard deviation of R accuracies x with the mean m is √(Σ (x - m)² / (R - 1)). It describes the runs,
    and not the tasks. Example: 0.70, 0.72 and 0.77 have the mean 0.73 and the deviation √(0.0026 / 2) = 0.036.

    >>> [round(value, 3) for value in run_spread([0.70, 0.72, 0.77])]
    [0.73, 0.7, 0.77, 0.036]
    """
    deviation = stdev(accuracies) if len(accuracies) > 1 else None
    return RunSpread(fmean(accuracies), min(accuracies), max(accuracies), deviation)


def shares_of_runs(runs: Sequence[Collection[str]], tasks: Sequence[str]) -> list[Fraction]:
    """Return for each task the share of runs that pass it, in [0, 1]. Each run is the tasks that it passes.

    >>> [str(share) for share in shares_of_runs([{"a"}, {"a", "b"}], ["a", "b", "c"])]
    ['1', '1/2', '0']
    """
    return [Fraction(sum(task in passed for passed in runs), len(runs)) for task in tasks]


def mean_counts(first: Sequence[Fraction], second: Sequence[Fraction]) -> MeanCounts:
    """Return the paired counts of two systems as means over all pairs of a run of the first and one of the second.

    `first` and `second` hold the shares p and q of the runs that pass each task, for the same tasks. Over the tasks,
    both = Σ pq, only_first = Σ p(1 - q), only_second = Σ (1 - p)q and neither = Σ (1 - p)(1 - q). With one run each,
    these are the counts of `paired_counts`. Example: p = 1, 1/2 and q = 0, 1/2 give 1/4, 5/4, 1/4 and 1/4.

    >>> [str(count) for count in mean_counts([Fraction(1), Fraction(1, 2)], [Fraction(0), Fraction(1, 2)])]
    ['1/4', '5/4', '1/4', '1/4']
    """
    pairs, none = list(zip(first, second, strict=True)), Fraction(0)
    return MeanCounts(
        sum((p * q for p, q in pairs), none),
        sum((p * (1 - q) for p, q in pairs), none),
        sum(((1 - p) * q for p, q in pairs), none),
        sum(((1 - p) * (1 - q) for p, q in pairs), none),
    )
