"""Two submissions on the same tasks: the test, the interval, the tie groups and the detectable difference."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
import scipy  # imports `scipy.stats` at its first use
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.metrics.paired import (
    Counts,
    Tie,
    detectable_difference,
    difference_interval,
    holm,
    mcnemar_p,
    paired_counts,
    paired_counts_by,
    paired_passes,
    resolution,
    tie_groups,
)
from tests.properties import examples

COUNTS = st.tuples(*[st.integers(0, 60)] * 4).map(lambda four: Counts(*four)).filter(lambda counts: counts.tasks > 0)
BOARDS = st.integers(1, 14).flatmap(
    lambda tasks: st.lists(st.lists(st.booleans(), min_size=tasks, max_size=tasks), min_size=1, max_size=7)
)


def passes_of(matrix: list[list[bool]]) -> pl.DataFrame:
    rows = [(f"s{place}", f"t{task}", passed) for place, row in enumerate(matrix) for task, passed in enumerate(row)]
    return pl.DataFrame(rows, schema=["submission", "task", "passed"], orient="row")


def ordered(matrix: list[list[bool]]) -> list[str]:
    return [f"s{place}" for place in sorted(range(len(matrix)), key=lambda place: (-sum(matrix[place]), place))]


def swapped(counts: Counts) -> Counts:
    return Counts(counts.both, counts.only_second, counts.only_first, counts.neither)


@given(st.integers(0, 400), st.integers(0, 400))
@settings(max_examples=examples(60))
def test_the_p_value_is_the_exact_binomial_one(one: int, other: int) -> None:
    """SciPy's exact binomial test of the discordant tasks gives the same p-value."""
    expected = scipy.stats.binomtest(one, one + other).pvalue if one + other else 1.0
    assert mcnemar_p(one, other) == pytest.approx(expected, rel=1e-9)
    assert mcnemar_p(one, other) == mcnemar_p(other, one)


@given(st.integers(0, 200), st.integers(1, 200))
def test_more_tasks_on_the_longer_side_lower_the_p_value(fewer: int, more: int) -> None:
    """If the smaller count stays fixed, the p-value falls with each further task of the larger count."""
    assert mcnemar_p(fewer, fewer + more + 1) < mcnemar_p(fewer, fewer + more) or fewer + more < 1


def test_holm_on_a_worked_example() -> None:
    """0.01 becomes 3 * 0.01, 0.03 becomes 2 * 0.03, and 0.04 is raised to the value before it."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_keeps_the_order_and_lowers_nothing(p_values: list[float]) -> None:
    """Adjusted p-values lie between the plain ones and Bonferroni's."""
    adjusted = holm(p_values)
    assert all(p <= each <= min(1.0, p * len(p_values)) for p, each in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [adjusted[place] for place in order] == sorted(adjusted)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [(Counts(1, 1, 7, 12), -0.507, -0.026), (Counts(20, 12, 2, 16), 0.0562, 0.3292)],
)
def test_the_interval_is_the_published_one(counts: Counts, low: float, high: float) -> None:
    """The interval equals published examples for paired proportions, by Newcombe's method 10."""
    assert difference_interval(counts) == pytest.approx((low, high), abs=5e-4)


@given(COUNTS)
def test_the_interval_holds_the_difference_and_mirrors(counts: Counts) -> None:
    """The interval contains the difference. Exchanging the submissions changes the signs."""
    low, high = difference_interval(counts)
    assert -1 <= low <= counts.difference <= high <= 1
    other_low, other_high = difference_interval(swapped(counts))
    assert (-other_high, -other_low) == pytest.approx((low, high), abs=1e-12)
    assert (swapped(counts).p_value, swapped(counts).difference) == (counts.p_value, -counts.difference)


@given(BOARDS, st.integers(0, 1000))
@settings(max_examples=examples(60))
def test_groups_do_not_depend_on_the_order_of_rows(matrix: list[list[bool]], seed: int) -> None:
    """The order of tasks and submissions does not change the groups."""
    frame, order = passes_of(matrix), ordered(matrix)
    shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
    assert tie_groups(frame, order) == tie_groups(shuffled, order)


@given(BOARDS)
@settings(max_examples=examples(60))
def test_groups_run_down_the_order_and_say_why(matrix: list[list[bool]]) -> None:
    """A group begins only at a submission that differs significantly from the best of the group above."""
    ties = tie_groups(passes_of(matrix), ordered(matrix))
    assert [tie.submission for tie in ties] == ordered(matrix)
    best = ties[0]
    assert best == Tie(best.submission, 1)
    for above, tie in pairwise(ties):
        begins = tie.tie_group == above.tie_group + 1
        assert begins or tie.tie_group == above.tie_group
        assert tie.compared_with == best.submission
        assert tie.p_adjusted is not None
        assert (tie.p_adjusted <= 0.05) == begins
        best = tie if begins else best


def test_a_system_apart_begins_a_group() -> None:
    """A system that passes no task is apart from two systems that pass at least 19 of 20."""
    matrix = [[True] * 20, [True] * 19 + [False], [False] * 20]
    assert [tie.tie_group for tie in tie_groups(passes_of(matrix), ordered(matrix))] == [1, 1, 2]
    assert tie_groups(passes_of(matrix), []) == ()


@given(BOARDS)
@settings(max_examples=examples(40))
def test_comparing_the_other_way_round_is_the_mirror(matrix: list[list[bool]]) -> None:
    """compare(A, B) and compare(B, A) give mirrored counts that count each task once."""
    frame = passes_of([matrix[0], matrix[-1]])
    there, back = (paired_counts(paired_passes(frame, *pair)) for pair in (("s0", "s1"), ("s1", "s0")))
    assert back == swapped(there)
    assert there.tasks == len(matrix[0])


def test_counts_by_group_take_a_task_in_each_of_its_groups() -> None:
    """A task that calls two utilities counts for both. Groups are sorted by name."""
    pairs = paired_passes(passes_of([[True, False], [False, False]]), "s0", "s1")
    groups = pl.DataFrame({"task": ["t0", "t0", "t1"], "group": ["sort", "find", "find"]})
    assert paired_counts_by(pairs, groups) == {"find": Counts(0, 1, 0, 1), "sort": Counts(0, 1, 0, 0)}
    assert list(paired_counts_by(pairs, groups)) == ["find", "sort"]


@pytest.mark.parametrize(
    ("tasks", "discordance", "expected"), [(300, 0.2, 23 / 300), (168, 0.3, 21 / 168), (5, 0.3, None), (0, 0.2, None)]
)
def test_the_detectable_difference(tasks: int, discordance: float, expected: float | None) -> None:
    """The difference is a whole number of tasks. Five tasks are too few for any significant difference."""
    assert detectable_difference(tasks, discordance) == (None if expected is None else pytest.approx(expected))


def test_more_tasks_tell_smaller_differences_apart() -> None:
    """The detectable difference falls with the number of tasks and rises with the share of discordant tasks."""
    by_tasks = [detectable_difference(tasks, 0.2) or 1.0 for tasks in (50, 100, 200, 400, 800)]
    by_discordance = [detectable_difference(300, share) or 1.0 for share in (0.05, 0.1, 0.2, 0.4)]
    assert by_tasks == sorted(by_tasks, reverse=True)
    assert by_discordance == sorted(by_discordance)


def test_the_power_is_what_was_asked_by_simulation() -> None:
    """Four fifths of the pairs that are drawn with the detectable difference are significant."""
    difference, discordance, tasks = 23 / 300, 0.2, 300
    shares = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    drawn = np.random.default_rng(5).multinomial(tasks, shares, size=20_000)
    found = np.mean([mcnemar_p(int(one), int(other)) <= 0.05 for one, other, _ in drawn])
    assert 0.79 < found < 0.84


def test_a_board_of_one_tells_nothing() -> None:
    """A board with one submission has no pair to compare."""
    assert resolution([Tie("only", 1)], 300) is None
