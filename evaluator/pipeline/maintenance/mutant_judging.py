"""Judge mutants, and execute each mutant only as far as its verdict needs.

    findings = MutantJudging(suite, judge, store, fingerprint, execute).judge(mutants, told)

A mutant that fails in one variant is not executed in the next one (see `judges/consensus/judge.py`). The first variant
is the variant in which the references have the most effects, because more effects can show more errors. The order of
variants depends only on evidence, and so do the verdicts.

Memory only holds the evidence in use. Evidence and verdicts are stored immediately, so an interrupted run continues
from the same point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from evaluator.errors import InfraError
from evaluator.judges.case import Case, Executed, Judge, decide
from evaluator.pipeline.grading.cache_keys import CacheKeys, CommandRuns, GradingItem, cwd_of, home_of, key_of
from evaluator.pipeline.grading.grader import SPACING_S
from evaluator.pipeline.grading.scheduler import EvidenceScheduler, Execute
from evaluator.progress import NullProgress
from evaluator.records import Finding, Outcome, Step, Task, Trial, Verdict, command_digest
from evaluator.store import JudgedVerdict, RunKey, Store
from evaluator.suites.load import Suite
from evaluator.suites.mutation_report import AskedMutant

_AGAINST: Final = "all references, variant by variant"
"""Distinguishes these verdicts from a grader's, which name the first deciding variant in the world's order."""

_BATCH: Final = 100
"""The number of verdicts that are written together. An interruption loses at most these, but not their evidence."""


class _ExecutedReferences(NamedTuple):
    """A task's references with two runs in every variant. A mutant is executed in the order of `variants`."""

    references: tuple[Executed, ...]
    variants: tuple[str, ...]


class _References(NamedTuple):
    """Scheduled work that waits for the runs of a task's references. Then it judges the task's mutants."""

    mutants: Sequence[AskedMutant]


@dataclass(slots=True)
class _Attempt:
    """Scheduled work that waits for the runs of a mutant that the judge has asked for. Then it judges the mutant."""

    mutant: AskedMutant
    executed: _ExecutedReferences
    runs: dict[RunKey, None] = field(default_factory=dict)


class MutantJudging:
    """Judges the mutants of a suite's tasks. Missing evidence is requested from the function `execute`."""

    def __init__(
        self,
        suite: Suite,
        judge: Judge,
        store: Store,
        fingerprint: str,
        execute: Execute,
        spacing_s: float = SPACING_S,
    ) -> None:
        self._suite, self._rules, self._store = suite, judge, store
        self._keys = CacheKeys(suite, judge, fingerprint)
        self._gathering = EvidenceScheduler[_References | _Attempt](store, execute, NullProgress(), spacing_s)
        self._findings: dict[AskedMutant, Finding] = {}
        self._unwritten: list[JudgedVerdict] = []
        self._tell: Callable[[Finding], None] = _tell_nobody

    def known(self, asked: Iterable[AskedMutant]) -> dict[AskedMutant, Finding]:
        """Return the stored verdicts on these mutants. Leave out verdicts under outdated cache keys."""
        keys = {mutant: key_of(self._parts(mutant)) for mutant in asked}
        verdicts = self._store.verdicts(keys.values())
        return {mutant: verdicts[key].finding for mutant, key in keys.items() if key in verdicts}

    def judge(self, asked: Sequence[AskedMutant], told: Callable[[Finding], None]) -> dict[AskedMutant, Finding]:
        """Return a verdict on every mutant, and call `told` with each verdict. Infra-errors are not stored."""
        self._tell, self._findings = told, {}
        tasks: dict[str, list[AskedMutant]] = {}
        for mutant in asked:
            tasks.setdefault(mutant.task.id, []).append(mutant)
        try:
            for mutants in tasks.values():
                self._begin(mutants)
            with closing(self._gathering.completed()) as completed:
                for work in completed:
                    if isinstance(work, _References):
                        self._enter(work.mutants)
                    else:
                        self._proceed(work)
        finally:
            self._write()
        return self._findings

    def _begin(self, mutants: Sequence[AskedMutant]) -> None:
        """Request the runs of a task's references. The task's mutants are judged after these runs."""
        task = mutants[0].task
        first = [request for command in task.references for request in self._runs(task, command).requests.values()]
        self._gathering.load_cached({request.run_key[0] for request in first})
        self._gathering.submit(_References(mutants), [*first, *(request.second_run() for request in first)])

    def _enter(self, mutants: Sequence[AskedMutant]) -> None:
        executed = self._executed_references(mutants[0].task)
        for mutant in mutants:
            if isinstance(executed, InfraError):
                self._settle(mutant, _failure(executed))
            else:
                self._proceed(_Attempt(mutant, executed))

    def _executed_references(self, task: Task) -> _ExecutedReferences | InfraError:
        variants, references = self._suite.variants(task), []
        for command in task.references:
            runs = self._runs(task, command)
            self._gathering.load_cached(runs.evidence_keys)
            if failure := self._gathering.failure(runs.evidence_keys):
                return failure
            references.append(Executed(command, self._gathering.trials(runs.keys)))
            if references[-1].trials.keys() != set(variants):
                return InfraError("its evidence was not kept")
        ordered = sorted(variants, key=lambda name: -_shown([each.trials[name] for each in references]))
        return _ExecutedReferences(tuple(references), tuple(ordered))

    def _proceed(self, attempt: _Attempt) -> None:
        """Record the verdict on a mutant, or request the runs that the judge needs next."""
        mutant, own = attempt.mutant, self._runs(attempt.mutant.task, attempt.mutant.command)
        self._gathering.load_cached({key for key, _ in attempt.runs})
        evidence, failures = self._gathering.evidence, self._gathering.failures
        if lost := [run for run in attempt.runs if run not in evidence]:
            self._settle(mutant, _failure(failures.get(lost[0], InfraError("its evidence was not kept"))))
            return
        case = self._case(attempt, Executed(mutant.command, self._gathering.trials(own.keys, attempt.runs)))
        step = decide(self._rules, case)
        if isinstance(step, Finding):
            self._settle(mutant, step)
            self._forget(attempt)
            return
        needed = [(own.requests[name], runs.repeat) for runs in step if runs.of_candidate for name in runs.variants]
        following = [request.second_run() if repeat else request for request, repeat in needed]
        attempt.runs |= dict.fromkeys(request.run_key for request in following)
        self._gathering.load_cached({request.run_key[0] for request in following})
        self._gathering.submit(attempt, following)

    def _case(self, attempt: _Attempt, candidate: Executed) -> Case:
        task, (references, variants), manifest = attempt.mutant.task, attempt.executed, self._suite.manifest
        cwd = cwd_of(self._suite, task)
        return Case(task, references, candidate, home_of(manifest), manifest.scratch, cwd, planned_variants=variants)

    def _runs(self, task: Task, command: bytes) -> CommandRuns:
        return self._keys.command_runs(task.id, command)

    def _forget(self, attempt: _Attempt) -> None:
        """Remove a mutant's evidence from memory. The store keeps it for other mutants with the same evidence."""
        for key, _ in attempt.runs:
            for run in (0, 1):
                self._gathering.evidence.pop((key, run), None)

    def _settle(self, mutant: AskedMutant, found: Finding) -> None:
        self._findings[mutant] = found
        if found.outcome is not Outcome.INFRA_ERROR:
            parts = self._parts(mutant)
            verdict = Verdict(
                key=key_of(parts),
                suite=self._suite.manifest.name,
                task=mutant.task.id,
                command=command_digest(mutant.command),
                judge=self._rules.name,
                judge_version=self._rules.version,
                finding=found,
            )
            self._unwritten.append(JudgedVerdict(verdict, parts))
        if len(self._unwritten) >= _BATCH:
            self._write()
        self._tell(found)

    def _write(self) -> None:
        self._store.add_verdicts(self._unwritten)
        self._unwritten = []

    def _parts(self, mutant: AskedMutant) -> dict[str, str]:
        return {**self._keys.plan_item(GradingItem(mutant.task.id, mutant.command)).parts, "against": _AGAINST}


def _shown(trials: Iterable[Trial]) -> int:
    """Return a measure of the visible effects of runs: the number of output bytes, plus 20 for every changed path."""
    return sum(trial.first.stdout.size + 20 * len(trial.first.changes) for trial in trials)


def _failure(error: InfraError) -> Finding:
    return Finding(outcome=Outcome.INFRA_ERROR, step=Step.INFRA, reason=str(error)[:500])


def _tell_nobody(found: Finding) -> None:
    """Ignore a verdict. This is the default for the function that receives verdicts."""
