"""Grading executes only commands without evidence: which commands run, how often, and which results are stored."""

from __future__ import annotations

import itertools

import pytest

from evaluator.errors import EngineError
from evaluator.judges import Case, EvidenceNeed, find_judge
from evaluator.judges.case import NeededRuns, lacking_runs
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.records import Ending, Evidence, Finding, Outcome, Step
from evaluator.testing.checkouts import small_task
from evaluator.testing.evidence import evidence
from evaluator.testing.executor import FakeExecutor, RequestedExecution, Shows
from tests.pipeline.grading_bench import SHOWN, GradingHarness

BOTH = ("one", "two")


def test_nothing_changed_executes_nothing(harness: GradingHarness) -> None:
    before = harness.grade(["right", "wrong"], FakeExecutor(SHOWN))
    again = FakeExecutor({})
    assert harness.grade(["right", "wrong"], again) == before
    assert again.calls == []


def test_a_command_that_was_edited_is_the_only_one_executed(harness: GradingHarness) -> None:
    harness.grade(["wrong"], FakeExecutor(SHOWN))
    edited = FakeExecutor(SHOWN)
    harness.grade(["wrong", "also right"], edited)
    assert dict(edited.counts) == {("also right", variant): 1 for variant in BOTH}


@pytest.mark.parametrize("command", ["right", "right too"])
def test_a_reference_is_executed_twice_in_every_variant_if_all_evidence_is_asked_for(
    harness: GradingHarness, command: str
) -> None:
    execution = FakeExecutor(SHOWN)
    harness.grader(execution).ensure_evidence([GradingItem("files-1", None)])
    assert [execution.counts[command, variant] for variant in BOTH] == [2, 2]


def test_a_passing_candidate_is_executed_once(harness: GradingHarness) -> None:
    execution = FakeExecutor(SHOWN)
    assert harness.grade(["also right"], execution)["also right"].outcome is Outcome.PASS
    assert execution.counts == {
        (command, variant): 1 for command in ("right", "right too", "also right") for variant in BOTH
    }


def test_a_failing_candidate_is_executed_once_more_where_a_reference_is_unsteady(harness: GradingHarness) -> None:
    """The candidate runs again only in the variant that decided, and only if a reference changes there."""

    def differs_in(variant: str, unsteady: str) -> tuple[list[int], Outcome, str | None]:
        def play(call: RequestedExecution) -> Shows:
            if call.command == "wrong":
                return "yes no\n" if call.variant == variant else "yes 0\n"
            return f"yes {call.before if call.variant == unsteady else 0}\n"

        harness.forget()
        execution = FakeExecutor(play)
        finding = harness.grade(["wrong"], execution)["wrong"]
        return [execution.counts["wrong", name] for name in BOTH], finding.outcome, finding.variant

    assert differs_in("two", unsteady="") == ([1, 1], Outcome.FAIL, "two")
    assert differs_in("two", unsteady="one") == ([1, 1], Outcome.FAIL, "two")
    assert differs_in("one", unsteady="two") == ([1, 0], Outcome.FAIL, "one")


class FirstSteadyDifference:
    """A judge that ignores a variant in which the candidate's two runs differ."""

    name = "first-steady-difference"
    version = 1
    basis = EvidenceNeed.REPEATS

    def decide(self, case: Case) -> Finding | tuple[NeededRuns, ...]:
        if first := lacking_runs(case, case.variants, case.variants):
            return first
        finding = self.judge(case)
        return lacking_runs(case, [finding.variant] if finding.variant else [], [], repeat=1) or finding

    def judge(self, case: Case) -> Finding:
        assert case.candidate is not None
        for variant, trial in case.candidate.trials.items():
            steady = trial.again is None or trial.again.digest == trial.first.digest
            if steady and trial.first.digest != case.references[0].trials[variant].first.digest:
                return Finding(outcome=Outcome.FAIL, step=Step.OUTPUT, variant=variant)
        return Finding(outcome=Outcome.PASS)


def test_a_candidate_is_run_again_in_the_next_variant_where_its_second_run_moved_the_decision(
    harness: GradingHarness,
) -> None:
    def play(call: RequestedExecution) -> Shows:
        ticking = call.command == "wrong" and call.variant == "one"
        return f"{call.before}\n" if ticking else SHOWN[call.command]

    execution = FakeExecutor(play)
    finding = harness.grade(["wrong"], execution, judge=FirstSteadyDifference())["wrong"]
    assert (finding.outcome, finding.variant) == (Outcome.FAIL, "two")
    assert [execution.counts["wrong", variant] for variant in BOTH] == [2, 2]


@pytest.mark.parametrize("command", ["right", "wrong"])
def test_two_runs_of_a_command_are_spaced(harness: GradingHarness, command: str) -> None:
    """Both runs are of one grader. A grader does not wait for the runs of an earlier one."""
    execution = FakeExecutor(SHOWN)
    if command == "right":
        harness.grader(execution, spacing_s=0.2).ensure_evidence([GradingItem("files-1", None)])
    else:
        harness.grade([command], execution, spacing_s=0.2, judge=FirstSteadyDifference())
    calls = [call.at for call in execution.calls if call.command == command and call.variant == "one"]
    assert calls[1] - calls[0] >= 0.2


def test_one_command_of_two_tasks_in_a_world_is_executed_once(harness: GradingHarness) -> None:
    harness.tasks = [small_task("files-1"), small_task("files-2", nl="Do something else")]
    execution = FakeExecutor(SHOWN)
    grader = harness.grader(execution)
    grader.grade([GradingItem("files-1", b"also right"), GradingItem("files-2", b"also right")])
    assert execution.counts["also right", "one"] == 1
    assert execution.counts["right", "one"] == 1


@pytest.mark.parametrize("command", [None, "", " \t\n", "echo \0"])
def test_what_no_shell_could_be_given_is_judged_without_being_executed(
    harness: GradingHarness, command: str | None
) -> None:
    execution = FakeExecutor(SHOWN)
    outcome = harness.grade([command], execution)[command].outcome
    assert outcome is (Outcome.UNANSWERED if command is None else Outcome.INVALID)
    assert command not in execution.commands


def test_an_unanswered_task_and_an_empty_command_have_other_keys(harness: GradingHarness) -> None:
    keys = harness.grader().keys
    assert keys.plan_item(GradingItem("files-1", None)).key != keys.plan_item(GradingItem("files-1", b"")).key


def test_another_judge_grades_again_without_executing(harness: GradingHarness) -> None:
    harness.grade(["also right"], FakeExecutor(SHOWN), judge="exact")
    execution = FakeExecutor({})
    assert harness.grade(["also right"], execution, judge="consensus")["also right"].outcome is Outcome.PASS
    assert execution.calls == []


def test_a_timeout_is_not_run_again(harness: GradingHarness) -> None:
    execution = FakeExecutor({**SHOWN, "sleep": Evidence(ending=Ending.TIMEOUT)})
    assert harness.grade(["sleep"], execution)["sleep"].outcome is Outcome.TIMEOUT
    assert execution.counts["sleep", "one"] == 1


class TestFailuresOfOurs:
    """An infra-error is no verdict: it is reported, not stored, and the command is executed again in the next run."""

    def test_a_candidate_without_evidence_is_an_infra_error_that_quotes_the_cause(
        self, harness: GradingHarness
    ) -> None:
        execution = FakeExecutor({**SHOWN, "also right": EngineError("the engine went away")})
        finding = harness.grade(["also right"], execution)["also right"]
        assert (finding.outcome, finding.step) == (Outcome.INFRA_ERROR, Step.INFRA)
        assert "the engine went away" in finding.reason

    def test_it_is_tried_again_next_time(self, harness: GradingHarness) -> None:
        harness.grade(["also right"], FakeExecutor({**SHOWN, "also right": EngineError("gone")}))
        execution = FakeExecutor(SHOWN)
        assert harness.grade(["also right"], execution)["also right"].outcome is Outcome.PASS
        assert execution.commands == {"also right"}

    def test_a_reference_without_evidence_spares_no_candidate(self, harness: GradingHarness) -> None:
        execution = FakeExecutor({**SHOWN, "right": EngineError("gone")})
        findings = harness.grade(["also right", "wrong"], execution)
        assert {finding.outcome for finding in findings.values()} == {Outcome.INFRA_ERROR}

    def test_other_candidates_are_judged_all_the_same(self, harness: GradingHarness) -> None:
        execution = FakeExecutor({**SHOWN, "also right": EngineError("gone")})
        assert harness.grade(["also right", "wrong"], execution)["wrong"].outcome is Outcome.FAIL

    @pytest.mark.parametrize("command", ["right", "wrong"])
    def test_a_second_run_that_fails_is_one_as_well(self, harness: GradingHarness, command: str) -> None:
        """Without a second run there is no verdict, because output that changes would count against the candidate."""

        def breaks_again(call: RequestedExecution) -> Shows:
            broken = call.command == command and call.before == 1
            return EngineError("gone") if broken else SHOWN[call.command]

        judge = FirstSteadyDifference() if command == "wrong" else find_judge("consensus")
        broken = harness.grade(["wrong"], FakeExecutor(breaks_again), judge=judge)
        assert broken["wrong"].outcome is Outcome.INFRA_ERROR
        execution = FakeExecutor(SHOWN)
        assert harness.grade(["wrong"], execution, judge=judge)["wrong"].outcome is Outcome.FAIL
        assert ("also right", "one") not in execution.counts
        assert all(count == 1 for count in execution.counts.values())


@pytest.mark.parametrize("answers", [0, 1, 3, 6, 7, 8])
def test_an_interrupted_run_continues_where_it_was(harness: GradingHarness, answers: int) -> None:
    commands = ["also right", "wrong"]
    broken = FakeExecutor(SHOWN, breaks_after=answers)
    with pytest.raises(KeyboardInterrupt):
        harness.grade(commands, broken)
    rest = FakeExecutor(SHOWN)
    findings = harness.grade(commands, rest)
    assert broken.counts + rest.counts == {
        **{(command, "one"): 2 for command in ("right", "right too")},
        **{(command, "two"): 1 for command in ("right", "right too")},
        **{("also right", variant): 1 for variant in BOTH},
        ("wrong", "one"): 1,
    }
    assert [findings[command].outcome for command in commands] == [Outcome.PASS, Outcome.FAIL]


def test_an_interrupted_run_comes_to_the_findings_of_an_undisturbed_one(harness: GradingHarness) -> None:
    undisturbed = harness.grade(["wrong"], FakeExecutor(SHOWN), fingerprint="a" * 64)
    with pytest.raises(KeyboardInterrupt):
        harness.grade(["wrong"], FakeExecutor(SHOWN, breaks_after=6))
    assert harness.grade(["wrong"], FakeExecutor(SHOWN)) == undisturbed


def test_findings_do_not_depend_on_how_long_anything_took(harness: GradingHarness) -> None:
    slow = FakeExecutor(lambda call: evidence(SHOWN[call.command], cpu_ms=900.0, wall_ms=9000.0))
    findings = harness.grade(["wrong"], slow, fingerprint="a" * 64)
    assert findings == harness.grade(["wrong"], FakeExecutor(SHOWN), fingerprint="b" * 64)


def test_the_order_of_subjects_does_not_change_what_is_executed_or_found(harness: GradingHarness) -> None:
    there, back = FakeExecutor(SHOWN), FakeExecutor(SHOWN)
    findings = harness.grade(["also right", "wrong"], there, fingerprint="a" * 64)
    assert harness.grade(["wrong", "also right"], back, fingerprint="b" * 64) == findings
    assert [call[:3] for call in there.calls] == [call[:3] for call in back.calls]


def test_a_reference_is_judged_by_the_others_alone(harness: GradingHarness) -> None:
    execution = FakeExecutor({**SHOWN, "right too": "maybe\n"})
    grader = harness.grader(execution)
    subjects = [GradingItem("files-1", b"right"), GradingItem("files-1", b"right", 0)]
    findings = grader.grade(subjects)
    assert [findings[each].outcome for each in subjects] == [Outcome.PASS, Outcome.FAIL]


def test_requests_of_one_world_go_together(harness: GradingHarness) -> None:
    """A worker builds a world at its first request, so the requests of one world are not mixed with others."""
    worlds = ["b", "a", "b", "a"]
    harness.tasks = [small_task(f"files-{number}", world=world) for number, world in enumerate(worlds)]
    execution = FakeExecutor(lambda call: "yes\n")
    grader = harness.grader(execution)
    grader.ensure_evidence([GradingItem(f"files-{number}", b"also right") for number in range(4)])
    order = [call.world for call in execution.calls]
    changes = sum(one != other for one, other in itertools.pairwise(order))
    assert changes == 3  # one within the first runs, one before the second runs, one within the second runs
