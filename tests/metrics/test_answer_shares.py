"""A judge's results on labelled answers: which answers a share counts, how wide its interval is, and the confusion."""

from __future__ import annotations

import pytest
import scipy  # imports `scipy.stats` at its first use
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.answer_shares import JudgedAnswer, answer_figures, clustered_share, confusion_rows
from evaluator.records import AnswerFigures, AnswerSet, ConfusionRow, EstimatedShare, Finding, Outcome, Part, Step

NUMBERS = AnswerSet(suite="open", suite_version="1.0.0", label_set=3, right=5, wrong=4, left_out=2, unavailable=1)


def answer(task: str, right: bool, outcome: Outcome, step: Step | None = Step.OUTPUT) -> JudgedAnswer:
    return JudgedAnswer(task, right, Finding(outcome=outcome, step=step))


def bounds(share: EstimatedShare) -> tuple[float, float]:
    assert share.low is not None
    assert share.high is not None
    return share.low, share.high


ANSWERS = [
    answer("a", True, Outcome.PASS, Step.EQUAL),
    answer("b", True, Outcome.PASS, Step.EQUAL),
    answer("b", False, Outcome.PASS, Step.EQUAL),
    answer("c", True, Outcome.FAIL),
    answer("c", False, Outcome.FAIL),
    answer("d", False, Outcome.TIMEOUT, Step.LIMIT),
    answer("e", True, Outcome.UNDECIDED),
    answer("e", False, Outcome.UNDECIDED),
    answer("f", True, Outcome.INFRA_ERROR, Step.INFRA),
]


@pytest.fixture(scope="module")
def figures() -> AnswerFigures:
    return answer_figures("consensus", 9, NUMBERS, Part.HELD_BACK, ANSWERS)


@pytest.mark.parametrize(
    ("share", "part", "whole"),
    [
        ("passes_right", 2, 3),
        ("fails_right", 2, 3),
        ("undecided", 2, 8),
        ("accuracy", 5, 8),  # of the undecided answers, the wrong one counts as a right fail
        ("accuracy_perfect_panel", 6, 8),
        ("right_passed", 2, 4),
        ("right_failed", 1, 4),
        ("wrong_failed", 2, 4),
    ],
)
def test_each_share_counts_its_answers(figures: AnswerFigures, share: str, part: int, whole: int) -> None:
    estimate = getattr(figures, share)
    assert (estimate.part, estimate.whole) == (part, whole)


def test_an_infra_error_is_in_no_share(figures: AnswerFigures) -> None:
    assert (figures.right, figures.wrong, figures.tasks, figures.infra_errors) == (4, 4, 5, 1)


def test_the_confusion_adds_up_to_all_judged_answers(figures: AnswerFigures) -> None:
    assert (sum(row.right for row in figures.confusion), sum(row.wrong for row in figures.confusion)) == (4, 4)
    assert figures.confusion[0] == ConfusionRow(outcome=Outcome.PASS, step=Step.EQUAL, rule="", right=2, wrong=1)
    limits = [row for row in figures.confusion if row.step is Step.LIMIT]
    assert limits == [ConfusionRow(outcome=Outcome.FAIL, step=Step.LIMIT, rule="", right=0, wrong=1)]


def test_rules_are_counted_apart() -> None:
    findings = (Finding(outcome=Outcome.PASS, rule=rule) for rule in ("blank-lines", "total-line", "blank-lines"))
    rows = confusion_rows(JudgedAnswer("a", True, finding) for finding in findings)
    assert [(row.rule, row.right) for row in rows] == [("blank-lines", 2), ("total-line", 1)]


def test_a_share_of_nothing_has_no_value() -> None:
    empty = clustered_share([])
    assert (empty.value, empty.low, empty.high) == (None, None, None)


def test_equal_answers_to_one_task_are_no_new_knowledge() -> None:
    """The interval of ten tasks is the same if each task has its answer three times."""
    once = [(str(task), task < 7) for task in range(10)]
    single, triple = clustered_share(once), clustered_share(once * 3)
    assert (triple.part, triple.whole) == (21, 30)
    assert bounds(single) == bounds(triple)
    independent = clustered_share((str(number), number < 21) for number in range(30))
    assert bounds(triple)[0] < bounds(independent)[0]


def test_answers_that_differ_within_tasks_do_not_narrow_the_interval() -> None:
    """If each task has a right and a wrong answer, the interval is that of independent answers, and not narrower."""
    paired = clustered_share((str(number // 2), number % 2 == 0) for number in range(20))
    exact = scipy.stats.binomtest(10, 20).proportion_ci(0.95, "wilson")
    assert bounds(paired) == pytest.approx((exact.low, exact.high), abs=1e-4)


def test_a_share_without_variation_counts_its_tasks() -> None:
    share = clustered_share((str(number // 3), True) for number in range(30))
    exact = scipy.stats.binomtest(10, 10).proportion_ci(0.95, "wilson")
    assert bounds(share) == pytest.approx((exact.low, 1.0), abs=1e-4)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), min_size=1, max_size=40))
def test_the_interval_contains_the_share(observations: list[tuple[str, bool]]) -> None:
    share = clustered_share(observations)
    assert share.value is not None
    low, high = bounds(share)
    assert 0.0 <= low <= round(share.value, 4) <= high <= 1.0
    assert clustered_share(reversed(observations)) == share
