"""A grader executes the runs that the judge asks for, and a verdict depends on no other run in the store."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import pytest

from evaluator.errors import EngineError
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.records import Finding, Outcome
from evaluator.testing.checkouts import small_task
from evaluator.testing.evidence import evidence
from evaluator.testing.executor import FakeExecutor, RequestedExecution, Shows
from tests.pipeline.grading_bench import SHOWN, GradingHarness

REFERENCES = ("right", "right too")
BOTH = ("one", "two")


def item(command: str, task: str = "files-1") -> GradingItem:
    return GradingItem(task, command.encode())


def runs_of(execution: FakeExecutor) -> Counter[tuple[str, str]]:
    """Return the number of executions of each command that is no reference."""
    return Counter({run: number for run, number in execution.counts.items() if run[0] not in REFERENCES})


def moving(call: RequestedExecution) -> Shows:
    """Return the output of a command. References print another number in each run, in variant `one`."""
    if call.command in REFERENCES:
        return f"yes {call.before if call.variant == 'one' else 0}\n"
    outputs = {"wrong": "no 0\n", "wrong in two": "yes 0\n" if call.variant == "one" else "no 0\n"}
    return outputs.get(call.command, "yes 0\n")


COMMANDS = ["also right", "wrong", "wrong in two", "yes", "", None]
ITEMS = [GradingItem("files-1", None if command is None else command.encode()) for command in COMMANDS]


class TestEarlyEnd:
    def test_a_failure_in_the_first_variant_needs_no_other(self, harness: GradingHarness) -> None:
        execution = FakeExecutor(SHOWN)
        harness.grade(["wrong", "also right"], execution)
        assert runs_of(execution) == {("wrong", "one"): 1, ("also right", "one"): 1, ("also right", "two"): 1}

    def test_references_run_once_more_only_where_a_candidate_fails(self, harness: GradingHarness) -> None:
        execution = FakeExecutor(SHOWN)
        harness.grade(["wrong"], execution)
        expected = {"one": 2, "two": 1}
        assert {(name, variant): execution.counts[name, variant] for name in REFERENCES for variant in BOTH} == {
            (name, variant): number for name in REFERENCES for variant, number in expected.items()
        }

    def test_nothing_is_executed_for_a_task_without_an_answer(self, harness: GradingHarness) -> None:
        """Its references are not executed either, nor those of a command that no shell could be given."""
        harness.tasks = [small_task("files-1"), small_task("files-2", nl="Do something else")]
        execution = FakeExecutor(SHOWN)
        items = [GradingItem("files-1", None), GradingItem("files-2", b" ")]
        findings = harness.grader(execution).grade(items)
        assert [findings[each].outcome for each in items] == [Outcome.UNANSWERED, Outcome.INVALID]
        assert execution.calls == []

    def test_references_run_in_a_fresh_variant_only_for_a_candidate_that_gets_there(
        self, harness: GradingHarness
    ) -> None:
        execution = FakeExecutor(SHOWN)
        fresh = {"world": "one"}
        harness.grader(execution, fresh=fresh).grade([item("wrong")._replace(seed="5")])
        assert ("right", "fresh") not in execution.counts
        harness.grader(execution, fresh=fresh).grade([item("also right")._replace(seed="5")])
        assert execution.counts["right", "fresh"] == execution.counts["also right", "fresh"] == 1


class TestOneVerdict:
    """A verdict is the same whatever else is in the store."""

    def graded(self, harness: GradingHarness, batches: Sequence[Sequence[GradingItem]]) -> dict[GradingItem, Finding]:
        findings: dict[GradingItem, Finding] = {}
        for batch in batches:
            findings |= harness.grader(moving).grade(batch)
        return findings

    def test_the_order_of_gradings_changes_nothing(self, harness: GradingHarness) -> None:
        expected = self.graded(harness, [ITEMS])
        for order in itertools.permutations(ITEMS[:4]):
            harness.forget()
            assert self.graded(harness, [[each] for each in (*order, *ITEMS[4:])]) == expected

    @pytest.mark.parametrize("commands", [["wrong"], ["wrong in two", "also right"], [None]])
    def test_more_evidence_changes_nothing(self, harness: GradingHarness, commands: list[str | None]) -> None:
        """All variants of some commands, and both runs of the references, are in the store before."""
        expected = self.graded(harness, [ITEMS])
        harness.forget()
        more = [GradingItem("files-1", command.encode() if command else None) for command in commands]
        harness.grader(moving).ensure_evidence(more)
        assert self.graded(harness, [ITEMS]) == expected

    def test_runs_that_nobody_asked_for_are_in_no_case(self, harness: GradingHarness) -> None:
        """A forged second run, or a forged run behind the variant that decided, is not read."""
        grader = harness.grader(SHOWN)
        expected = grader.grade([item("wrong")])
        harness.forget()
        for key, run in itertools.product(grader.keys.plan_item(item("wrong")).candidate_keys, (0, 1)):
            if (key, run) != (grader.keys.plan_item(item("wrong")).candidate_keys[0], 0):
                harness.store.add_evidence((key, run), evidence("yes\n"))
        again = harness.grader(SHOWN)
        assert again.grade([item("wrong")]) == expected
        case = again.case(item("wrong"))
        assert case.candidate is not None
        assert [(name, each.again) for name, each in case.candidate.trials.items()] == [("one", None)]

    def test_all_evidence_explains_the_same_verdict(self, harness: GradingHarness) -> None:
        grader = harness.grader(moving)
        few = grader.grade([item("wrong")])
        grader.ensure_evidence([item("wrong")])
        full = grader.full_case(item("wrong"))
        assert full.candidate is not None
        assert list(full.candidate.trials) == ["one", "two"]
        assert grader.judge.judge(full) == few[item("wrong")]


class TestMissingRuns:
    def test_the_next_runs_without_evidence_are_named(self, harness: GradingHarness) -> None:
        grader = harness.grader(SHOWN)
        grader.ensure_evidence([GradingItem("files-1", None)])
        one, two = grader.keys.plan_item(item("also right")).candidate_keys
        assert grader.missing_runs([item("also right")]) == {(one, 0)}
        harness.store.add_evidence((one, 0), evidence("yes\n"))
        assert harness.grader(SHOWN).missing_runs([item("also right")]) == {(two, 0)}
        harness.store.add_evidence((two, 0), evidence("yes\n"))
        assert harness.grader(SHOWN).missing_runs([item("also right")]) == set()
        assert harness.grader(SHOWN).load_cached([item("also right"), item("wrong")]) == [item("also right")]

    def test_a_case_gets_its_missing_runs_and_no_others(self, harness: GradingHarness) -> None:
        """A verdict may outlive its evidence."""
        harness.grader(SHOWN).grade([item("wrong")])
        execution = FakeExecutor(SHOWN)
        grader = harness.grader(execution)
        key = grader.keys.plan_item(item("wrong")).candidate_keys[0]
        harness.store.remove([(key, 0)], [])
        grader.ensure_cases([item("wrong")])
        assert dict(execution.counts) == {("wrong", "one"): 1}


class TestChains:
    """The candidates of a chain are graded in order, up to the first one that passes."""

    def test_nothing_behind_a_pass_is_executed_or_reported(self, harness: GradingHarness) -> None:
        execution = FakeExecutor({**SHOWN, "later": "yes\n"})
        chain = [item("wrong"), item("also right"), item("later")]
        findings = harness.grader(execution).grade_chains([chain])
        assert [(each, findings[each].outcome) for each in findings] == [
            (chain[0], Outcome.FAIL),
            (chain[1], Outcome.PASS),
        ]
        assert "later" not in execution.commands

    def test_the_next_candidate_begins_as_soon_as_one_does_not_pass(self, harness: GradingHarness) -> None:
        """There are no rounds: a chain goes on while another one waits for its first candidate."""
        harness.tasks = [small_task("files-1"), small_task("files-2", references=("last", "last too"))]
        execution = FakeExecutor(lambda call: SHOWN.get(call.command, "no\n"))
        harness.grader(execution).ensure_evidence([GradingItem("files-1", None)])
        chains = [[item("wrong"), item("second")], [item("mine", "files-2")]]
        harness.grader(execution).grade_chains(chains)
        ran = [(call.command, call.variant) for call in execution.calls]
        assert ran.index(("second", "one")) < ran.index(("mine", "two"))

    def test_an_item_of_several_chains_is_graded_once(self, harness: GradingHarness) -> None:
        """Each chain ends at its own first pass, also if another chain has graded the item behind it."""
        execution = FakeExecutor({**SHOWN, "no": "no\n"})
        wrong, right, no = item("wrong"), item("also right"), item("no")
        chains = [[wrong, right], [right, no], [no, wrong], []]
        findings = harness.grader(execution).grade_chains(chains)
        assert set(findings) == {wrong, right, no}
        assert max(execution.counts[command, "one"] for command in ("wrong", "also right", "no")) == 1

    def test_a_stored_verdict_counts(self, harness: GradingHarness) -> None:
        harness.grade(["wrong", "also right"], FakeExecutor(SHOWN))
        execution = FakeExecutor(SHOWN)
        findings = harness.grader(execution).grade_chains([[item("wrong"), item("also right"), item("later")]])
        assert set(findings) == {item("wrong"), item("also right")}
        assert execution.calls == []

    def test_a_failure_of_ours_is_no_pass(self, harness: GradingHarness) -> None:
        execution = FakeExecutor({**SHOWN, "lost": EngineError("gone")})
        findings = harness.grader(execution).grade_chains([[item("lost"), item("also right")]])
        assert [each.outcome for each in findings.values()] == [Outcome.INFRA_ERROR, Outcome.PASS]
