"""From commands to findings, doing only what is not known yet.

A verdict's key is the digest of all it depends on, so what is stale is simply what has no verdict under its
key. For that, evidence is looked up by its own keys and only what is missing is executed: every command once
in each variant, references twice, spaced. A candidate that does not pass is run once more in the variant that
decided, and judged again: what differs between its own two runs does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from evaluator.errors import InfraError
from evaluator.judges.case import Case, EvidenceNeed, Executed, Judge, needs_second_run
from evaluator.pipeline.grading.cache_keys import (
    CacheKeys,
    GradingItem,
    MutantLookup,
    Rulings,
    cwd_of,
    home_of,
    is_executable,
    key_of,
    no_known_mutants,
)
from evaluator.pipeline.grading.scheduler import EvidenceScheduler, Execute
from evaluator.progress import Progress
from evaluator.records import Evidence, Finding, Outcome, Step, Task, Trial, Verdict, command_digest
from evaluator.sandbox.requests import Request
from evaluator.store import JudgedVerdict, RunKey, Store
from evaluator.suites.load import Suite

SPACING_S: Final = 2.0
"""Between a command's two runs. The clock is pinned, so only what leaks past the pins can differ by it."""


class Outdated(NamedTuple):
    """A subject without a verdict under its key, and why."""

    subject: GradingItem
    why: str


class Plan(NamedTuple):
    """What grading would do: subjects to judge, and how many executions that takes at least.

    `panel` says what a panel would be asked about what is undecided already, None where there is none.
    """

    stale: tuple[Outdated, ...]
    executions: int
    panel: PanelPlan | None = None


class PanelPlan(NamedTuple):
    """How many answers are undecided, and at most how many calls at about what cost that takes.

    `usd` is None where a price is not known. What is stale may turn out undecided too, and is not in these.
    """

    undecided: int
    calls: int
    usd: float | None


@dataclass
class Grader:
    """Grades commands of one suite by one judge. `execute` is called with what has no evidence yet.

    `preloaded` is evidence that need not be asked of the store; where both have some of a run, it is what counts.
    """

    suite: Suite
    judge: Judge
    store: Store
    fingerprint: str
    execute: Execute
    progress: Progress
    spacing_s: float = SPACING_S
    rulings: Rulings = field(default_factory=dict)
    known_mutants: MutantLookup = no_known_mutants
    preloaded: Mapping[RunKey, Evidence] = field(default_factory=dict)
    keys: CacheKeys = field(init=False)
    _tasks: dict[str, Task] = field(init=False)
    _scheduler: EvidenceScheduler = field(init=False)

    def __post_init__(self) -> None:
        self._tasks = {task.id: task for task in self.suite.tasks}
        self.keys = CacheKeys(self.suite, self.judge, self.fingerprint, self.rulings, self.known_mutants)
        self._scheduler = EvidenceScheduler(self.store, self.execute, self.progress, self.spacing_s)
        self._scheduler.evidence.update(self.preloaded)

    # -- what is stale

    def plan(self, subjects: Iterable[GradingItem]) -> Plan:
        """What has no verdict yet, why, and what it would take."""
        stale = [Outdated(each, self._why(each)) for each in self._without_verdict(dict.fromkeys(subjects))]
        runs = {} if self.judge.basis is EvidenceNeed.TEXT else self._first_runs([each.subject for each in stale])
        known = self.store.known_runs({key for key, _ in runs})
        return Plan(tuple(stale), len(runs.keys() - known))

    def _without_verdict(self, subjects: Iterable[GradingItem]) -> list[GradingItem]:
        keys = {subject: self.keys.key(subject) for subject in subjects}
        known = self.store.verdicts(keys.values())
        return [subject for subject, key in keys.items() if key not in known]

    def _why(self, subject: GradingItem) -> str:
        parts = self.keys.parts(subject)
        digest = command_digest(subject.command or b"")
        judged = self.store.earlier(self.suite.manifest.name, subject.task, digest)
        # a reference that `suite verify` judged by the others was asked something else
        earlier = [each for each in judged if each.parts.get("against") == parts["against"]]
        if not earlier:
            return "never judged"
        closest = max(earlier, key=lambda each: sum(each.parts.get(name) == value for name, value in parts.items()))
        changed = [name for name, value in parts.items() if closest.parts.get(name) != value]
        words = {
            "command": "world, limits, clock or base changed",
            "references": "references or their worlds changed",
            "slip": "marks of harmless slips changed",
        }
        return "; ".join(words.get(name, f"{name} changed") for name in changed)

    def known(self, subjects: Iterable[GradingItem]) -> dict[GradingItem, Finding]:
        """The findings on those of the subjects that have a verdict."""
        keys = {subject: self.keys.key(subject) for subject in dict.fromkeys(subjects)}
        known = self.store.verdicts(keys.values())
        return {subject: known[key].finding for subject, key in keys.items() if key in known}

    # -- grading

    def grade(self, subjects: Iterable[GradingItem]) -> dict[GradingItem, Finding]:
        """A finding for every subject. Verdicts are kept as soon as they are known; infra-errors never are."""
        asked = list(dict.fromkeys(subjects))
        findings = self.known(asked)
        pending = [subject for subject in asked if subject not in findings]
        if pending:
            fresh = self._judge(pending)
            self._keep(fresh)
            findings |= fresh
        return findings

    def trials(self, task: str, command: bytes) -> dict[str, Trial]:
        """Evidence of a command by variant, as far as there is any."""
        found = {}
        for name, (key, _) in self.keys.requests(task, command).items():
            first = self._scheduler.evidence.get((key, 0))
            if first is not None:
                found[name] = Trial(first=first, again=self._scheduler.evidence.get((key, 1)))
        return found

    def case(self, subject: GradingItem) -> Case:
        """The case of a subject from the evidence at hand; call `ensure_evidence` before."""
        candidate = None
        if subject.command is not None:
            trials = self.trials(subject.task, subject.command) if is_executable(subject.command) else {}
            candidate = Executed(subject.command, trials)
        references = tuple(Executed(each, self.trials(subject.task, each)) for each in self.keys.references(subject))
        manifest, task = self.suite.manifest, self._tasks[subject.task]
        cwd, slip = cwd_of(self.suite, task), self.keys.is_known_mutant(subject)
        return Case(task, references, candidate, home_of(manifest), manifest.scratch, cwd, slip)

    def ensure_evidence(self, subjects: Iterable[GradingItem]) -> None:
        """See to it that the evidence of these subjects is at hand, executing what is missing."""
        self._request_runs(list(subjects))
        self._scheduler.finish()

    def load_cached(self, subjects: Iterable[GradingItem]) -> list[GradingItem]:
        """Bring the evidence of these to hand as far as the store has it; those that lack none. Executes nothing."""
        asked = list(subjects)
        if self.judge.basis is EvidenceNeed.TEXT:
            return asked
        self._scheduler.load_cached({key for subject in asked for key in self._keys(subject)})
        known = self._scheduler.evidence
        return [subject for subject in asked if all((key, 0) in known for key in self._keys(subject))]

    def failure(self, task: str, command: bytes) -> InfraError | None:
        """The failure of ours that keeps a command from having evidence, if there is one."""
        keys = [key for key, _ in self.keys.requests(task, command).values()]
        failed = (self._scheduler.failures.get((key, run)) for key in keys for run in (0, 1))
        return next((each for each in failed if each is not None), None)

    def _first_runs(self, subjects: Sequence[GradingItem]) -> dict[RunKey, Request]:
        commands = {(subject.task, subject.command) for subject in subjects}
        references = {(subject.task, each) for subject in subjects for each in self.keys.references(subject)}
        ordered = sorted(
            (
                (task, command)
                for task, command in commands | references
                if command is not None and is_executable(command)
            ),
            key=lambda pair: (self._tasks[pair[0]].world, pair),
        )
        runs: dict[RunKey, Request] = {}
        for task, command in ordered:
            runs |= {(key, 0): request for key, request in self.keys.requests(task, command).values()}
        for task, command in ordered:
            if (task, command) in references:
                runs |= {(key, 1): request for key, request in self.keys.requests(task, command).values()}
        return runs

    def _request_runs(self, subjects: Sequence[GradingItem]) -> dict[RunKey, Request]:
        """Want first runs of these subjects' commands and references, and second ones of references."""
        if self.judge.basis is EvidenceNeed.TEXT:
            return {}
        runs = self._first_runs(subjects)
        self._scheduler.load_cached({key for key, _ in runs})
        self._scheduler.when_available(runs)
        return runs

    def _judge(self, subjects: Sequence[GradingItem]) -> dict[GradingItem, Finding]:
        """Judge, run again what did not pass, and judge that again until nothing new is to be run.

        Where the second run fails for a reason of ours, judging again says so. Subjects that share a command's
        evidence are judged together, so that the order of executions leaves no trace: a second run that one of
        them asked for is never there when another is judged for the first time.
        """
        findings: dict[GradingItem, Finding] = {}
        planned = self._request_runs(subjects)
        for together in self._sharing(subjects):
            needed = {run for subject in together for key in self._keys(subject) for run in ((key, 0), (key, 1))}
            runs = {run: planned[run] for run in sorted(needed & planned.keys())}
            self._scheduler.when_available(runs, partial(self._judge_round, together, findings))
        self._scheduler.finish()
        return findings

    def _judge_round(self, together: Sequence[GradingItem], findings: dict[GradingItem, Finding]) -> None:
        findings |= {subject: self._find(subject) for subject in together}
        again = {subject: runs for subject in together if (runs := self._second_runs(subject, findings[subject]))}
        if again:
            runs = {run: request for each in again.values() for run, request in each.items()}
            self._scheduler.when_available(runs, partial(self._judge_round, list(again), findings))

    def _sharing(self, subjects: Iterable[GradingItem]) -> list[list[GradingItem]]:
        """Subjects whose commands have one evidence together; any other by itself."""
        found: dict[object, list[GradingItem]] = {}
        for subject in subjects:
            found.setdefault(self._own_keys(subject) or subject, []).append(subject)
        return list(found.values())

    def _own_keys(self, subject: GradingItem) -> tuple[str, ...]:
        if subject.command is None or not is_executable(subject.command):
            return ()
        return tuple(key for key, _ in self.keys.requests(subject.task, subject.command).values())

    def _keys(self, subject: GradingItem) -> Iterator[str]:
        """Evidence keys of a subject's command and of its references."""
        yield from self._own_keys(subject)
        for command in self.keys.references(subject):
            yield from (key for key, _ in self.keys.requests(subject.task, command).values())

    def _find(self, subject: GradingItem) -> Finding:
        commands = [*self.keys.references(subject), *([subject.command] if is_executable(subject.command) else [])]
        for command in commands:
            if command is not None and (failure := self.failure(subject.task, command)):
                return Finding(outcome=Outcome.INFRA_ERROR, step=Step.INFRA, reason=str(failure)[:500])
        found = self.judge.judge(self.case(subject))
        ruling = self.keys.ruling(subject)
        if ruling is None:
            return found
        return Finding(
            outcome=ruling.ruling.outcome,
            step=Step.ADJUDICATION,
            reason=f"a maintainer ruled so: {ruling.because}",
            collateral=found.collateral,
        )

    def _second_runs(self, subject: GradingItem, finding: Finding) -> dict[RunKey, Request]:
        if subject.command is None or self.judge.basis is not EvidenceNeed.REPEATS or not needs_second_run(finding):
            return {}
        requests = self.keys.requests(subject.task, subject.command)
        names = [finding.variant] if finding.variant in requests else list(requests)
        runs = {(requests[name][0], 1): requests[name][1] for name in names if name is not None}
        return {run: request for run, request in runs.items() if run not in self._scheduler.evidence}

    def _keep(self, findings: Mapping[GradingItem, Finding]) -> None:
        judged = []
        for subject, finding in findings.items():
            if finding.outcome is Outcome.INFRA_ERROR:
                continue
            parts = self.keys.parts(subject)
            verdict = Verdict(
                key=key_of(parts),
                suite=self.suite.manifest.name,
                task=subject.task,
                command=command_digest(subject.command or b""),
                judge=self.judge.name,
                judge_version=self.judge.version,
                finding=finding,
            )
            judged.append(JudgedVerdict(verdict, parts))
        self.store.add_verdicts(judged)
