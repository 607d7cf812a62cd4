"""Execution accuracy over frames of graded candidates."""

from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.metrics.accuracy import accuracy_at, accuracy_by_topic, execution_accuracy, passes, wilson_interval
from evaluator.metrics.frames import TaskFacts, results_frame
from evaluator.metrics.summary import summary
from evaluator.records import Finding, Outcome, Result
from tests.metrics.graded import JUDGED
from tests.properties import examples

TOPICS = {f"t{number}": TaskFacts("files" if number % 2 else "text") for number in range(40)}
GRADES = st.lists(st.lists(st.sampled_from(JUDGED), min_size=1, max_size=5), min_size=1, max_size=12)


def result(task: str, outcome: Outcome, rank: int = 1, **fields: object) -> Result:
    values = {"command": b"ls", "confidence": 1.0, "nlc2cmd": 0.5, "collateral": False} | fields
    finding = Finding(outcome=outcome, collateral=bool(values.pop("collateral")))
    return Result.model_validate(
        {"submission": "one", "suite": "core", "task": task, "rank": rank, "finding": finding, **values}
    )


def graded(grades: list[list[Outcome]]) -> list[Result]:
    return [
        result(f"t{task}", outcome, rank)
        for task, outcomes in enumerate(grades)
        for rank, outcome in enumerate(outcomes, start=1)
    ]


def test_the_denominator_is_every_task_asked() -> None:
    """With one task of each outcome, one of seven passed. The undecided task only raises the upper bound."""
    (row,) = execution_accuracy(results_frame(graded([[outcome] for outcome in JUDGED]), TOPICS)).to_dicts()
    counts = ("passed", "failed", "timeout", "invalid", "unanswered", "undecided", "infra_errors")
    assert [row[name] for name in counts] == [1] * 7
    assert row["asked"] == 7
    assert row["accuracy"] == pytest.approx(1 / 7)
    assert row["accuracy_upper"] == pytest.approx(2 / 7)


def test_only_the_first_candidate_ranks_and_later_ones_count_at_k() -> None:
    """First passes at rank 2, at rank 4 and never give 0 at k=1, 1/3 at k=3 and 2/3 at k=5."""
    fail, good = Outcome.FAIL, Outcome.PASS
    frame = results_frame(graded([[fail, good], [fail, fail, fail, good], [fail]]), TOPICS)
    assert execution_accuracy(frame)["accuracy"].to_list() == [0]
    assert accuracy_at(frame)["accuracy"].to_list() == pytest.approx([0, 1 / 3, 2 / 3])


def test_collateral_is_a_share_of_tasks_asked() -> None:
    """Two of four first candidates have collateral. Later candidates do not count."""
    results = [result(f"t{number}", Outcome.PASS, collateral=number < 2) for number in range(4)]
    results.append(result("t3", Outcome.PASS, 2, collateral=True))
    assert execution_accuracy(results_frame(results, TOPICS))["collateral"].to_list() == [0.5]


def test_topics_add_up_to_the_whole() -> None:
    """The counts of the topics add up to the counts of the submission."""
    frame = results_frame(graded([[Outcome.PASS], [Outcome.FAIL], [Outcome.PASS], [Outcome.PASS]]), TOPICS)
    assert accuracy_by_topic(frame).rows() == [("core", "one", "files", 2, 1), ("core", "one", "text", 2, 2)]
    assert passes(frame)["passed"].to_list() == [True, False, True, True]


@pytest.mark.parametrize(
    ("passed", "asked", "low", "high"),
    [(222, 300, 0.6876, 0.7864), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (1, 1, 0.2065, 1.0)],
)
def test_wilson_intervals_are_the_published_ones(passed: int, asked: int, low: float, high: float) -> None:
    """Worked values of the score interval without continuity correction."""
    frame = pl.DataFrame({"passed": [passed], "asked": [asked]})
    low_bound, high_bound = wilson_interval(pl.col("passed"), pl.col("asked"))
    bounds = frame.select(low_bound.alias("low"), high_bound.alias("high")).row(0)
    assert bounds == pytest.approx((low, high), abs=1e-4)


def test_nlc2cmd_is_the_mean_over_tasks_of_the_pooled_candidates() -> None:
    """A task scores its best positive score times confidence, else the mean. A task without a command scores -1."""
    results = [
        result("t0", Outcome.FAIL, 1, nlc2cmd=0.5, confidence=1.0),
        result("t0", Outcome.FAIL, 2, nlc2cmd=1.0, confidence=0.8),
        result("t1", Outcome.FAIL, 1, nlc2cmd=-1.0, confidence=0.5),
        result("t1", Outcome.FAIL, 2, nlc2cmd=-0.5, confidence=1.0),
        result("t2", Outcome.UNANSWERED, 1, nlc2cmd=-1.0, command=None),
        result("t3", Outcome.INVALID, 1, nlc2cmd=-1.0, command=b" "),
        result("t3", Outcome.FAIL, 2, nlc2cmd=0.25),
    ]
    row = summary(results_frame(results, TOPICS)).row(0, named=True)
    assert row["nlc2cmd"] == pytest.approx((0.8 - 0.5 - 1 + 0.25) / 4)


def test_a_task_without_topic_is_named() -> None:
    """A result for a task that the suite lacks raises an error that names the task."""
    with pytest.raises(KeyError, match="t0"):
        results_frame(graded([[Outcome.PASS]]), {})


def test_no_results_give_empty_frames() -> None:
    """A board without submissions has no rows and no error."""
    assert summary(results_frame([], {})).is_empty()


@given(GRADES)
@settings(max_examples=examples(40))
def test_shares_are_ordered_and_bounded(grades: list[list[Outcome]]) -> None:
    """0 <= low <= accuracy <= high <= 1, accuracy <= upper <= 1, and accuracy at k never falls."""
    frame = results_frame(graded(grades), TOPICS)
    (row,) = summary(frame).to_dicts()
    assert 0 <= row["accuracy_low"] <= row["accuracy"] + 1e-12
    assert row["accuracy"] - 1e-12 <= row["accuracy_high"] <= 1
    assert row["accuracy"] <= row["accuracy_upper"] <= 1
    at = [entry["accuracy"] for entry in row["accuracy_at"]]
    assert at == sorted(at)
    assert at[0] == row["accuracy"]
    assert row["asked"] == len(grades)


@given(GRADES, st.randoms(use_true_random=False))
def test_the_order_of_results_leaves_no_trace(grades: list[list[Outcome]], order: random.Random) -> None:
    """Shuffled results give the same frame, so everything computed from it is the same."""
    results = graded(grades)
    shuffled = order.sample(results, len(results))
    assert results_frame(results, TOPICS).equals(results_frame(shuffled, TOPICS))


@given(GRADES, st.data())
def test_passing_one_task_more_never_lowers_accuracy(grades: list[list[Outcome]], data: st.DataObject) -> None:
    """Accuracy and both bounds rise with each pass."""
    task = data.draw(st.integers(0, len(grades) - 1))
    better = [[Outcome.PASS, *outcomes[1:]] if number == task else outcomes for number, outcomes in enumerate(grades)]
    before = execution_accuracy(results_frame(graded(grades), TOPICS)).row(0, named=True)
    after = execution_accuracy(results_frame(graded(better), TOPICS)).row(0, named=True)
    for name in ("accuracy", "accuracy_low", "accuracy_high", "accuracy_upper"):
        assert after[name] >= before[name]
