"""Judge mutants in one variant after another. A mutant that fails in one variant is not executed in the next variant.

    findings = MutantJudging(suite, judge, store, fingerprint, execute).judge(mutants, told)

If a mutant fails in some variants, it also fails in all variants together. So most mutants need only one execution. The
first variant is the variant in which the references have the most effects, because more effects can show more errors.
The order of variants depends only on evidence, and so do the verdicts.

A second run is skipped if it cannot change the verdict. For example, if both runs of every reference have equal
effects, a mutant with other effects always fails. Memory only holds the evidence in use. Evidence and verdicts are
stored immediately, so an interrupted run continues from the same point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from evaluator.errors import InfraError
from evaluator.judges.case import Case, Executed, Judge, needs_second_run
from evaluator.judges.consensus.usable_references import usable_references
from evaluator.judges.consensus.views import comparable_run
from evaluator.pipeline.grading.cache_keys import CacheKeys, GradingItem, cwd_of, home_of, is_executable, key_of
from evaluator.pipeline.grading.grader import SPACING_S
from evaluator.pipeline.grading.scheduler import EvidenceScheduler, Execute
from evaluator.progress import NullProgress
from evaluator.records import Finding, Outcome, Step, Task, Trial, Verdict, command_digest
from evaluator.sandbox.requests import Request
from evaluator.store import JudgedVerdict, Store
from evaluator.suites.load import Suite
from evaluator.suites.mutation_report import AskedMutant

_AGAINST: Final = "all references, variant by variant"
"""Distinguishes these verdicts from a grader's, which name the first deciding variant in the world's order."""

_FINAL: Final = frozenset({Outcome.FAIL, Outcome.TIMEOUT, Outcome.INVALID, Outcome.INFRA_ERROR})
_BATCH: Final = 100
"""The number of verdicts that are written together. An interruption loses at most these, but not their evidence."""


@dataclass
class _Witnesses:
    """A task's references with two runs in every variant. A mutant is executed in the order of `variants`."""

    task: Task
    references: tuple[Executed, ...]
    variants: tuple[str, ...]
    steady: dict[Step | None, bool] = field(default_factory=dict)

    def of(self, variants: Sequence[str]) -> tuple[Executed, ...]:
        """Return the references with their evidence in the given variants only."""
        return tuple(Executed(each.command, {name: each.trials[name] for name in variants}) for each in self.references)

    def is_steady(self, step: Step | None) -> bool:
        """Return whether every reference ran twice, and its two runs do not differ for the judge's step `step`."""
        if step not in self.steady:
            views = [comparable_run(trial, self.task) for each in self.references for trial in each.trials.values()]
            self.steady[step] = all(seen.repeated and not seen.is_volatile(step) for seen in views)
        return self.steady[step]


class _References(NamedTuple):
    """Scheduled work that waits for the runs of a task's references. Then it judges the task's mutants."""

    mutants: Sequence[AskedMutant]


class _Attempt(NamedTuple):
    """Scheduled work that waits for the runs of a mutant in the variants `tried`. Then it judges the mutant."""

    mutant: AskedMutant
    witnesses: _Witnesses
    tried: tuple[str, ...]


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
                        self._weigh(work)
        finally:
            self._write()
        return self._findings

    def _begin(self, mutants: Sequence[AskedMutant]) -> None:
        """Request the runs of a task's references. The task's mutants are judged after these runs."""
        task = mutants[0].task
        first = [request for command in task.references for request in self._requests(task, command).values()]
        self._gathering.load_cached({request.run_key[0] for request in first})
        self._gathering.submit(_References(mutants), [*first, *(request.second_run() for request in first)])

    def _enter(self, mutants: Sequence[AskedMutant]) -> None:
        witnesses = self._call(mutants[0].task)
        for mutant in mutants:
            if isinstance(witnesses, InfraError):
                self._settle(mutant, _failure(witnesses))
            else:
                self._try_next(mutant, witnesses, ())

    def _call(self, task: Task) -> _Witnesses | InfraError:
        references = []
        for command in task.references:
            executed = self._executed(task, command, self._suite.variants(task))
            if isinstance(executed, InfraError):
                return executed
            references.append(executed)
        variants = sorted(
            self._suite.variants(task), key=lambda name: -_shown([each.trials[name] for each in references])
        )
        return _Witnesses(task, tuple(references), tuple(variants))

    def _try_next(self, mutant: AskedMutant, witnesses: _Witnesses, tried: tuple[str, ...]) -> None:
        """Request a mutant's run in the next variant. After the run, the mutant is judged in all variants so far."""
        if not is_executable(mutant.command):
            self._settle(mutant, self._rules.judge(self._case(witnesses, Executed(mutant.command, {}), tried)))
            return
        tried = witnesses.variants[: len(tried) + 1]
        request = self._requests(mutant.task, mutant.command)[tried[-1]]
        self._gathering.load_cached([request.run_key[0]])
        self._gathering.submit(_Attempt(mutant, witnesses, tried), [request])

    def _weigh(self, attempt: _Attempt) -> None:
        """Judge a mutant in the variants tried so far. Then record the verdict, or request more runs."""
        mutant, witnesses, tried = attempt
        executed = self._executed(mutant.task, mutant.command, tried)
        if isinstance(executed, InfraError):
            self._settle(mutant, _failure(executed))
            return
        case = self._case(witnesses, executed, tried)
        found = self._rules.judge(case)
        is_last = len(tried) == len(witnesses.variants)
        if not is_last and (found.outcome not in _FINAL or not _bear_witness(witnesses, case)):
            self._try_next(mutant, witnesses, tried)
            return
        again = self._second_runs(witnesses, executed, found, tried)
        if again:
            self._gathering.submit(attempt, again)
        else:
            self._settle(mutant, found)
            self._forget(mutant, tried)

    def _second_runs(
        self, witnesses: _Witnesses, executed: Executed, found: Finding, tried: Sequence[str]
    ) -> Sequence[Request]:
        """Return requests for the mutant's second runs that have no evidence yet and may change the verdict."""
        settled = found.outcome is Outcome.FAIL and witnesses.is_steady(found.step)
        if settled or not needs_second_run(found):
            return []
        names = [found.variant] if found.variant in tried else list(tried)
        requests = self._requests(witnesses.task, executed.command)
        runs = [requests[name].second_run() for name in names if name is not None]
        return [request for request in runs if request.run_key not in self._gathering.evidence]

    def _case(self, witnesses: _Witnesses, candidate: Executed, variants: Sequence[str]) -> Case:
        manifest, task = self._suite.manifest, witnesses.task
        cwd = cwd_of(self._suite, task)
        return Case(task, witnesses.of(variants), candidate, home_of(manifest), manifest.scratch, cwd)

    def _requests(self, task: Task, command: bytes) -> Mapping[str, Request]:
        return self._keys.command_runs(task.id, command).requests

    def _executed(self, task: Task, command: bytes, variants: Sequence[str]) -> Executed | InfraError:
        """Return a command with its evidence in these variants, or the infra-error of its execution."""
        requests = self._requests(task, command)
        requests = {name: requests[name] for name in variants}
        self._gathering.load_cached([request.run_key[0] for request in requests.values()])
        if failure := self._gathering.failure(requests.values()):
            return failure
        trials = self._gathering.trials(requests)
        if trials.keys() != requests.keys():
            return InfraError("its evidence was not kept")
        return Executed(command, trials)

    def _forget(self, mutant: AskedMutant, tried: Sequence[str]) -> None:
        """Remove a mutant's evidence from memory. The store keeps it for other mutants with the same evidence."""
        requests = self._requests(mutant.task, mutant.command)
        for name in tried:
            for run in (0, 1):
                self._gathering.evidence.pop((requests[name].run_key[0], run), None)

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


def _bear_witness(witnesses: _Witnesses, case: Case) -> bool:
    """Return whether the judge uses the same references for the variants tried so far as for all variants."""
    whole = replace(case, references=witnesses.references)
    return [each.command for each in usable_references(case)] == [each.command for each in usable_references(whole)]


def _shown(trials: Iterable[Trial]) -> int:
    """Return a measure of the visible effects of runs: the number of output bytes, plus 20 for every changed path."""
    return sum(trial.first.stdout.size + 20 * len(trial.first.changes) for trial in trials)


def _failure(error: InfraError) -> Finding:
    return Finding(outcome=Outcome.INFRA_ERROR, step=Step.INFRA, reason=str(error)[:500])


def _tell_nobody(found: Finding) -> None:
    """Ignore a verdict. This is the default for the function that receives verdicts."""
