"""Mutants are judged one variant at a time, with the same findings as a grader but fewer executions."""

from __future__ import annotations

import pytest

from evaluator.errors import InfraError
from evaluator.judges import find_judge
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.maintenance.mutant_judging import MutantJudging
from evaluator.records import Finding, Outcome
from evaluator.sandbox.requests import ExecutionResult
from evaluator.suites.mutation_report import AskedMutant
from evaluator.testing.checkouts import small_suite
from evaluator.testing.executor import FINGERPRINT, FakeExecutor, RequestedExecution, Shows
from tests.pipeline.grading_bench import SHOWN, GradingHarness

COMMANDS = (b"also right", b"wrong", b"wrong in two", b"wrong in one", b"ticking", b"lost")


def plays(call: RequestedExecution) -> Shows:
    """Return the result of a call. References print most in `two`, and `ticking` prints another number in each run."""
    if call.command == "lost":
        return InfraError("the engine went away")
    if call.command == "ticking":
        return f"{call.before}\n"
    is_right = call.command in SHOWN and call.command != "wrong"
    if is_right or call.command == f"wrong in {'one' if call.variant == 'two' else 'two'}":
        return "yes\n" * (3 if call.variant == "two" else 1)
    return "no\n"


def asked(harness: GradingHarness) -> list[AskedMutant]:
    return [AskedMutant(harness.tasks[0], 1, "number", command) for command in COMMANDS]


def judge(harness: GradingHarness, play: FakeExecutor) -> dict[bytes, Finding]:
    """Return the findings on the mutants that have no finding in the store."""
    suite = small_suite(harness.root, harness.tasks)
    elimination = MutantJudging(suite, find_judge("consensus"), harness.store, FINGERPRINT, play, spacing_s=0.0)
    known = elimination.known(asked(harness))
    pending = [mutant for mutant in asked(harness) if mutant not in known]
    return {mutant.command: found for mutant, found in elimination.judge(pending, lambda found: None).items()}


def test_what_fails_in_one_variant_is_not_executed_in_another(harness: GradingHarness) -> None:
    """The variant in which the references print most is executed first."""
    execution = FakeExecutor(plays)
    judge(harness, execution)
    variants: dict[str, list[str]] = {command.decode(): [] for command in COMMANDS}
    for call in execution.calls:
        variants.get(call.command, []).append(call.variant)
    assert variants["wrong"] == variants["wrong in two"] == ["two"]
    assert variants["wrong in one"] == variants["also right"] == ["two", "one"]


def test_findings_are_those_of_a_grader(harness: GradingHarness) -> None:
    """Each command gets the same outcome as from a grader. If several variants decide, the named variant may differ."""
    found = judge(harness, FakeExecutor(plays))
    harness.forget()
    subjects = {command: GradingItem("files-1", command) for command in COMMANDS}
    graded = harness.grader(FakeExecutor(plays), judge="consensus").grade(subjects.values())
    outcomes = {command: each.outcome for command, each in found.items()}
    assert outcomes == {command: graded[subject].outcome for command, subject in subjects.items()}
    assert set(outcomes.values()) == {Outcome.PASS, Outcome.FAIL, Outcome.INFRA_ERROR}


def test_a_second_run_is_made_where_a_reference_does_not_stand_still(harness: GradingHarness) -> None:
    """A mutant runs twice only if a reference changes between runs, because the same change may then be excused."""

    def restless(call: RequestedExecution) -> Shows:
        return f"{call.before} and more\n" if call.command.startswith("right") else plays(call)

    steady, moving = FakeExecutor(plays), FakeExecutor(restless)
    judge(harness, steady)
    harness.forget()
    judge(harness, moving)
    assert max(steady.counts["ticking", variant] for variant in ("one", "two")) == 1
    assert max(moving.counts["ticking", variant] for variant in ("one", "two")) == 2


@pytest.mark.parametrize("breaks_after", [3, 9, 12])
def test_what_was_executed_and_judged_before_an_interruption_is_not_again(
    harness: GradingHarness, breaks_after: int
) -> None:
    whole = FakeExecutor(plays)
    expected = judge(harness, whole)
    harness.forget()
    broken, rest = FakeExecutor(plays, breaks_after=breaks_after), FakeExecutor(plays)
    with pytest.raises(KeyboardInterrupt):
        judge(harness, broken)
    found = judge(harness, rest)
    assert found.items() <= expected.items()
    assert broken.counts + rest.counts == whole.counts
    assert set(judge(harness, FakeExecutor(plays))) == {b"lost"}


def test_a_failure_of_ours_is_told_and_not_kept(harness: GradingHarness) -> None:
    """An infra-error is reported and not stored. If a reference has one, each mutant gets an infra-error."""
    answers: dict[str, ExecutionResult] = {"right too": InfraError("no room")}
    found = judge(harness, FakeExecutor(lambda call: answers.get(call.command) or plays(call)))
    assert {each.outcome for each in found.values()} == {Outcome.INFRA_ERROR}
    assert set(judge(harness, FakeExecutor(plays))) == set(COMMANDS)
