"""Standings: order, places, and the ranges of places."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.leaderboard.compute_standings import places, rank_ranges, ranked_order, standings
from evaluator.metrics.accuracy import accuracy_by_topic, passes
from evaluator.metrics.frames import TaskFacts, results_frame
from evaluator.metrics.paired import tie_groups
from evaluator.metrics.summary import summary
from evaluator.records import Finding, Outcome, Result, Standing, SubmissionManifest, json_lines
from tests.properties import examples

PASS, FAIL, INFRA = Outcome.PASS, Outcome.FAIL, Outcome.INFRA_ERROR
BOARDS = st.integers(1, 12).flatmap(
    lambda tasks: st.lists(st.lists(st.booleans(), min_size=tasks, max_size=tasks), min_size=1, max_size=6)
)


def board(grades: dict[str, list[Outcome]], seed: int = 1) -> tuple[Standing, ...]:
    """Return the standings of submissions that answered tasks 0, 1, … with one candidate each."""
    results = [
        Result(
            submission=slug,
            suite="core",
            task=f"t{task}",
            rank=1,
            command=b"ls",
            confidence=1,
            finding=Finding(outcome=outcome),
            nlc2cmd=0.5,
        )
        for slug, outcomes in grades.items()
        for task, outcome in enumerate(outcomes)
    ]
    frame = results_frame(results, {result.task: TaskFacts("files") for result in results})
    manifests = {slug: manifest(slug) for slug in grades}
    scores, tasks = summary(frame), max(map(len, grades.values()), default=0)
    ties = [tie._asdict() for tie in tie_groups(passes(frame), ranked_order(scores, manifests, tasks))]
    return standings(scores, accuracy_by_topic(frame), passes(frame), manifests, "1.0.0", tasks, ties, seed)


def manifest(slug: str) -> SubmissionManifest:
    return SubmissionManifest.model_validate(
        {
            "format": 1,
            "system": slug.upper(),
            "authors": [{"name": "A group"}],
            "open_weights": True,
            "method": "rules",
            "suites": {"core": "1.0.0"},
        }
    )


def ranges_of(matrix: list[list[bool]], seed: int = 0) -> list[tuple[int, int]]:
    rows = [
        (f"s{number}", f"t{task:03}", passed) for number, row in enumerate(matrix) for task, passed in enumerate(row)
    ]
    frame = pl.DataFrame(rows, schema=["submission", "task", "passed"], orient="row")
    return list(rank_ranges(frame, seed, draws=200).values())


def test_standings_go_by_accuracy_and_then_by_slug() -> None:
    """Submissions of equal accuracy are ordered by slug, so that the order is always the same."""
    rows = board({"b": [PASS, FAIL], "c": [PASS, PASS], "a": [FAIL, PASS]})
    assert [row.submission for row in rows] == ["c", "a", "b"]
    assert [row.system for row in rows] == ["C", "A", "B"]


def test_a_submission_with_infra_errors_is_listed_last_and_unranked() -> None:
    """A row with infra-errors has no place and does not change the places of the others."""
    rows = board({"ours": [PASS, PASS, INFRA], "good": [PASS, PASS, PASS], "bad": [FAIL, FAIL, FAIL]})
    assert [(row.submission, row.ranked, row.rank_low, row.rank_high) for row in rows] == [
        ("good", True, 1, 1),
        ("bad", True, 2, 2),
        ("ours", False, None, None),
    ]


def test_a_submission_not_asked_every_task_is_unranked() -> None:
    """A submission that was asked only a part of the suite is listed without a place."""
    rows = board({"half": [PASS], "whole": [PASS, FAIL]})
    assert [(row.submission, row.ranked) for row in rows] == [("whole", True), ("half", False)]


def test_submissions_that_pass_the_same_tasks_share_the_better_place() -> None:
    """Two equal submissions at the top both have place 1, and the next has place 3."""
    rows = board({"a": [PASS] * 4, "b": [PASS] * 4, "c": [FAIL] * 4})
    assert [(row.rank_low, row.rank_high) for row in rows] == [(1, 1), (1, 1), (3, 3)]


def test_neighbours_that_no_data_separates_have_ranges_that_overlap() -> None:
    """A difference of one task in twelve does not separate two systems."""
    first, second = board({"a": [PASS] * 7 + [FAIL] * 5, "b": [FAIL] * 6 + [PASS] * 6})
    assert (first.rank_low, first.rank_high) == (1, 2)
    assert (second.rank_low, second.rank_high) == (1, 2)


def test_a_board_of_unranked_submissions_has_rows_but_no_places() -> None:
    """A board may have no ranked submission, or no submission at all."""
    assert [row.ranked for row in board({"a": [INFRA]})] == [False]
    assert board({}) == ()


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([[3, 1, 3]], [[1, 3, 1]]), ([[0, 0], [2, 5]], [[1, 1], [2, 1]]), ([[7]], [[1]])],
)
def test_places_count_the_larger(counts: list[list[int]], expected: list[list[int]]) -> None:
    """A place is one more than the number of larger counts in its row."""
    assert places(np.array(counts)).tolist() == expected


def test_the_same_records_give_the_same_bytes() -> None:
    """The order of submissions does not change the bytes of the standings."""
    grades = {slug: [PASS if (number * 7 + ord(slug)) % 3 else FAIL for number in range(30)] for slug in "abcdef"}
    once = json_lines(board(grades))
    assert once == json_lines(board(dict(reversed(grades.items()))))


@given(BOARDS)
@settings(max_examples=examples(60))
def test_ranges_hold_the_place_on_the_suite_itself(matrix: list[list[bool]]) -> None:
    """1 <= rank_low <= place <= rank_high <= number of submissions."""
    actual = places(np.array(matrix, dtype=np.int64).sum(axis=1)[None, :])[0]
    for (low, high), place in zip(ranges_of(matrix), actual, strict=True):
        assert 1 <= low <= place <= high <= len(matrix)


@given(BOARDS)
@settings(max_examples=examples(40))
def test_passing_all_that_another_passes_is_never_ranked_worse(matrix: list[list[bool]]) -> None:
    """A submission that passes a superset of another's tasks has no worse end of its range."""
    superset = [mine or theirs for mine, theirs in zip(matrix[0], matrix[-1], strict=True)]
    ranges = ranges_of([*matrix, superset])
    for other in (0, len(matrix) - 1):
        assert ranges[-1][0] <= ranges[other][0]
        assert ranges[-1][1] <= ranges[other][1]


def test_a_thousand_submissions_are_ranked_in_seconds() -> None:
    """1,000 submissions, 300 tasks and 1,000 draws are one matrix product and a few histograms."""
    generator = np.random.default_rng(0)
    rows = 1000 * 300
    frame = pl.DataFrame(
        {
            "submission": [f"s{number // 300:04}" for number in range(rows)],
            "task": [f"t{number % 300:03}" for number in range(rows)],
            "passed": generator.random(rows) < 0.7,
        }
    )
    before = time.perf_counter()
    ranges = rank_ranges(frame, seed=0)
    assert len(ranges) == 1000
    assert time.perf_counter() - before < 10
