"""The judge decides after each variant as it would after all of them, with fewer executions.

`EveryVariant` is the judge without early ends: it waits for all variants, checks one step after another in all of them,
and always reads the references' second runs. Both judges read the same evidence of a part of the suite: the baselines
and controls, the near misses, and some mutants of each task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from evaluator.judges import Case, EvidenceNeed, find_judge
from evaluator.judges.case import Judge, NeededRuns, lacking_runs
from evaluator.judges.consensus.collateral import has_collateral
from evaluator.judges.consensus.judge import (
    _NO_REFERENCE,
    _NOTHING_SHOWN,
    _decide,
    _equal_to,
    _leave_mutant_undecided,
    _settle_by_words,
    _without_second_runs,
)
from evaluator.judges.consensus.prechecks import early_verdict, settle_by_text
from evaluator.judges.consensus.usable_references import fails_on_unknown_file, show_nothing, usable_references
from evaluator.judges.consensus.views import runs_by_variant, same_bytes
from evaluator.pipeline.evidence.required_runs import submitted_items
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_executor
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.known_mutants import known_mutants_of
from evaluator.pipeline.grading.scheduler import Execute
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import NullProgress
from evaluator.records import Finding, Outcome, Step
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.shell.mutation import mutants_of
from evaluator.store import Store
from evaluator.suites.load import Suite
from evaluator.suites.mutation_report import mutants_of_task, sample_of

ROOT: Final = Path(__file__).parents[2]
EVERY: Final = 5
"""One of so many tasks is judged."""

MUTANTS: Final = 5
"""Mutants of a task that are judged."""

_COMPARING: Final = frozenset({Step.FILES, Step.SHELL, Step.PROCESSES, Step.EXIT, Step.STDERR, Step.OUTPUT})


class EveryVariant:
    """The judge `consensus` without early ends."""

    name = "every-variant"
    version = 7
    basis = EvidenceNeed.REPEATS

    def decide(self, case: Case) -> Finding | tuple[NeededRuns, ...]:
        if text := settle_by_text(case):
            return text
        needed = lacking_runs(case, case.variants, case.variants) + lacking_runs(case, (), case.variants, repeat=1)
        if needed:
            return needed
        finding = self.judge(case)
        is_compared = finding.step in _COMPARING and finding.outcome in (Outcome.FAIL, Outcome.UNDECIDED)
        decisive = [finding.variant] if is_compared and finding.variant else []
        return lacking_runs(case, decisive, (), repeat=1) or finding

    def judge(self, case: Case) -> Finding:
        early = early_verdict(case) or _settle_by_words(case)
        finding = early or _leave_mutant_undecided(case, self._compare(case))
        collateral = finding.outcome is not Outcome.INFRA_ERROR and has_collateral(case)
        return finding.model_copy(update={"collateral": collateral})

    def _compare(self, case: Case) -> Finding:
        candidate, references = case.candidate, usable_references(case)
        assert candidate is not None
        unknown_file = fails_on_unknown_file(case)
        if not references:
            return unknown_file or Finding(outcome=Outcome.UNDECIDED, step=Step.LIMIT, reason=_NO_REFERENCE)
        if show_nothing(case.task, [candidate, *references]):
            return unknown_file or Finding(outcome=Outcome.UNDECIDED, step=Step.EQUAL, reason=_NOTHING_SHOWN)
        for reference in references:
            if same_bytes(case.task, candidate, reference, case.variants):
                return _equal_to(case, reference)
        runs = runs_by_variant(case, _without_second_runs(candidate), references)
        finding = _decide(case, runs)
        seen = [reference for each in runs for reference in each.references]
        is_steady = all(reference.repeated and not reference.is_volatile(finding.step) for reference in seen)
        if finding.outcome is not Outcome.FAIL or is_steady:
            return finding
        masked = runs_by_variant(case, candidate, references)
        if not any(each.candidate.repeated for each in masked) or _decide(case, masked).outcome is Outcome.FAIL:
            return finding
        return finding.model_copy(update={"outcome": Outcome.UNDECIDED})


class StoredExecution:
    """Takes results from a store, and executes what the store lacks."""

    def __init__(self, store: Store, execute: Execute) -> None:
        self.store, self.execute = store, execute

    def __call__(self, requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
        for request in requests:
            if stored := self.store.evidence([request.run_key]):
                yield request, stored[request.run_key]
            else:
                yield from self.execute([request])


def items_of(project: Project, suite: Suite) -> dict[str, list[GradingItem]]:
    """Return the commands to judge, by kind."""
    tasks = suite.tasks[::EVERY]
    names = {task.id for task in tasks}
    submissions = [each for each in load_submissions(project) if "core" in each.manifest.suites]
    answers = [item for each in submissions for item in submitted_items(suite, each) if item.task in names]
    mutants = {
        task.id: list(
            mutants_of_task(task, lambda command: ((each.operator, each.command) for each in mutants_of(command)))
        )
        for task in tasks
    }
    return {
        "answers": [item._replace(seed="") for item in answers],
        "near misses": [GradingItem(task.id, command) for task in tasks for command in task.near_misses],
        "mutants": [
            GradingItem(name, each.command) for name, all_ in mutants.items() for each in sample_of(all_, MUTANTS)
        ],
    }


@pytest.mark.soak
@pytest.mark.engine
def test_an_early_end_changes_no_outcome_and_saves_executions(tmp_path: Path) -> None:
    """The outcomes are equal, except that a timeout in a later variant may be a failure in an earlier one."""
    project, progress = Project.find(ROOT), NullProgress()
    suite = project.suite("core")
    groups = items_of(project, suite)
    everything = [item for group in groups.values() for item in group]
    with open_executor(project, suite, progress, store_path=tmp_path / "all" / "store.sqlite") as executor:
        mutants = known_mutants_of(project, suite, executor.store)

        def grader(judge: Judge, store: Store, execute: Execute) -> Grader:
            return Grader(suite, judge, store, executor.fingerprint(), execute, progress, known_mutants=mutants)

        late = grader(EveryVariant(), executor.store, executor.execute)
        before = late.grade(everything)
        executed_before = len(executor.store.runs())
        with closing(Store(tmp_path / "few" / "store.sqlite")) as few:
            early = grader(find_judge("consensus"), few, StoredExecution(executor.store, executor.execute))
            after = early.grade(everything)
            executed_after = len(few.runs())
    report(groups, before, after)
    print(f"executions without early ends: {executed_before}, with them: {executed_after}")  # noqa: T201 - the proof
    assert not [item for item in everything if before[item].outcome is Outcome.INFRA_ERROR]
    changed = {item: (before[item].outcome, after[item].outcome) for item in everything}
    changed = {item: pair for item, pair in changed.items() if pair[0] is not pair[1]}
    assert all(pair == (Outcome.TIMEOUT, Outcome.FAIL) for pair in changed.values()), changed
    assert executed_after < executed_before * 0.7


def report(
    groups: Mapping[str, Sequence[GradingItem]],
    before: Mapping[GradingItem, Finding],
    after: Mapping[GradingItem, Finding],
) -> None:
    """Print the outcomes of each kind of command, and each command whose outcome, step or variant changed."""
    for kind, items in groups.items():
        outcomes = Counter((before[item].outcome.value, after[item].outcome.value) for item in items)
        print(f"{kind}: {dict(outcomes)}")  # noqa: T201
        failed = [
            sum(each[item].outcome in (Outcome.FAIL, Outcome.TIMEOUT) for item in items) for each in (before, after)
        ]
        print(f"  failed: {failed[0]} without early ends, {failed[1]} with them, of {len(items)}")  # noqa: T201
        for item in items:
            one, two = before[item], after[item]
            if (one.outcome, one.step, one.variant) != (two.outcome, two.step, two.variant):
                told = (
                    f"{each.outcome.value} {each.step and each.step.value} {each.variant}: {each.reason}"
                    for each in (one, two)
                )
                print(f"  {item.task} {item.command!r:.60}\n    " + "\n    ".join(told))  # noqa: T201
