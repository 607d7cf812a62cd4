"""The spread of several runs, and the paired counts of two systems over all their runs."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.accuracy import wilson_bounds
from evaluator.metrics.paired import Counts, difference_interval
from evaluator.metrics.repeated_runs import mean_counts, run_spread, shares_of_runs

RUNS = ({"a", "b", "c", "d", "e"}, {"a", "c", "d", "e", "f", "g"}, {"a", "b", "d", "e"})
"""Three runs that pass 5, 6 and 4 of ten tasks."""
TASKS = "abcdefghij"


def test_the_spread_of_three_runs_is_that_of_their_accuracies() -> None:
    """The mean of 0.5, 0.6 and 0.4 is 0.5, and the sample deviation is √((0.1² + 0.1²) / 2) = 0.1."""
    spread = run_spread([0.5, 0.6, 0.4])
    assert spread == pytest.approx((0.5, 0.4, 0.6, 0.1))


def test_a_single_run_has_no_deviation() -> None:
    assert run_spread([0.25]) == (0.25, 0.25, 0.25, None)


def test_each_task_has_the_share_of_runs_that_pass_it() -> None:
    shares = shares_of_runs(RUNS, list(TASKS))
    assert [3 * share for share in shares] == [3, 2, 2, 3, 3, 1, 1, 0, 0, 0]


def test_the_counts_of_three_runs_against_one_are_means_over_the_three_pairs() -> None:
    """The other system passes a, b and c. Each count is computed by hand as a sum over the ten tasks."""
    other = shares_of_runs([{"a", "b", "c"}], list(TASKS))
    counts = mean_counts(shares_of_runs(RUNS, list(TASKS)), other)
    assert [3 * count for count in counts] == [7, 8, 2, 13]
    assert counts.tasks == 10
    assert counts.difference == pytest.approx(0.2)


def test_single_runs_have_the_interval_of_their_whole_counts() -> None:
    tasks = list("abcdefghijklmnopqrstu")
    counts = mean_counts(shares_of_runs(["ab"], tasks), shares_of_runs(["acdefghi"], tasks))
    assert tuple(counts) == tuple(Counts(1, 1, 7, 12))
    assert difference_interval(counts) == pytest.approx((-0.507, -0.026), abs=5e-4)


THIRDS, HALVES = (st.sampled_from([Fraction(part, runs) for part in range(runs + 1)]) for runs in (3, 2))
SHARES = st.lists(st.tuples(THIRDS, HALVES), min_size=1, max_size=40)


@given(SHARES)
def test_swapping_the_systems_turns_the_interval_round(pairs: list[tuple[Fraction, Fraction]]) -> None:
    """The interval also exists if one system passes all tasks in every run, or none."""
    first, second = [p for p, _ in pairs], [q for _, q in pairs]
    low, high = difference_interval(mean_counts(first, second))
    assert difference_interval(mean_counts(second, first)) == pytest.approx((-high, -low))
    assert low - 1e-9 <= mean_counts(first, second).difference <= high + 1e-9


@pytest.mark.parametrize(
    ("passed", "asked", "low", "high"),
    [(222, 300, 0.688, 0.786), (5.0, 10, 0.237, 0.763), (0, 10, 0.0, 0.278), (0, 0, 0.0, 1.0)],
)
def test_the_bounds_of_one_share_are_wilsons(passed: float, asked: int, low: float, high: float) -> None:
    assert wilson_bounds(passed, asked) == pytest.approx((low, high), abs=5e-4)


def test_a_mean_between_two_numbers_of_tasks_has_bounds_between_theirs() -> None:
    below, between, above = (wilson_bounds(passed, 10)[0] for passed in (5, 5.5, 6))
    assert below < between < above
    assert not math.isnan(between)
