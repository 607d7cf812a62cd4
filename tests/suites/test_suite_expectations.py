"""The expectations of `suite verify` for a task, and the violations that it reports."""

from __future__ import annotations

import pytest

from evaluator.records import Finding, Outcome, Step
from evaluator.suites.expectations import DO_NOTHING, expectations, slow_violation, violations, volatile_violation
from evaluator.testing.checkouts import small_task

TASK = small_task("files-1", near_misses=(b"near", b"nearer"))


def found(outcome: Outcome) -> Finding:
    return Finding(outcome=outcome, step=Step.FILES, reason="because", variant="two", place=b"/srv/\xff")


def test_every_reference_must_pass_without_itself() -> None:
    asked = [(each.command, each.without) for each in expectations(TASK) if each.must_pass]
    assert asked == [(b"right", 0), (b"right too", 1)]


def test_every_near_miss_and_doing_nothing_must_fail_beside_all_references() -> None:
    asked = [(each.command, each.without) for each in expectations(TASK) if not each.must_pass]
    assert asked == [(command, None) for command in (b"near", b"nearer", *DO_NOTHING)]


def test_who_is_asked_is_said_by_number() -> None:
    roles = [each.role for each in expectations(TASK)]
    assert roles == ["reference 1", "reference 2", "near miss 1", "near miss 2", "doing nothing", "doing nothing"]


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.NOT_RUN])
@pytest.mark.parametrize("must_pass", [True, False])
def test_what_does_not_hold_is_told(outcome: Outcome, must_pass: bool) -> None:
    """A reference must pass, and a near miss must fail. Every other outcome is reported as a violation.

    An undecided outcome or an infrastructure failure meets neither expectation.
    """
    asked = next(each for each in expectations(TASK) if each.must_pass is must_pass)
    plain = {Outcome.FAIL, Outcome.TIMEOUT, Outcome.INVALID, Outcome.UNANSWERED}
    holds = {Outcome.PASS} if must_pass else plain
    assert [each.role for each in violations({asked: found(outcome)})] == ([] if outcome in holds else [asked.role])


def test_it_is_told_with_task_variant_place_and_reason() -> None:
    asked = next(iter(expectations(TASK)))
    (violation,) = violations({asked: found(Outcome.FAIL)})
    assert (violation.task, violation.command, violation.variant) == ("files-1", "right", "two")
    assert violation.place == "/srv/\ufffd"
    assert violation.reason == "must pass, but fail: because"


def test_unmarked_volatility_names_the_fields() -> None:
    violation = volatile_violation(TASK, b"date", "one", ("line 1, field 2", "line 2"))
    assert violation.place == "line 1, field 2"
    assert "differ in line 1, field 2, line 2: expected the same" in violation.reason


def test_a_slow_reference_is_told_with_its_time_and_the_limit() -> None:
    violation = slow_violation(TASK, b"right", "two", 1040.0, 2.0)
    assert (violation.task, violation.role, violation.variant) == ("files-1", "CPU time", "two")
    assert violation.reason == "this reference takes 1.04 s of CPU time: expected at most half of the limit of 2 s"
