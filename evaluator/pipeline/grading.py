"""From commands to findings, doing only what is not known yet.

A verdict's key is the digest of all it depends on, so what is stale is simply what has no verdict under its
key. For that, evidence is looked up by its own keys and only what is missing is executed: every command once
in each variant, references twice, spaced. A candidate that does not pass is run once more in the variant that
decided, and judged again: what differs between its own two runs does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from evaluator.errors import InfraError
from evaluator.judges.case import Basis, Case, Executed, Judge
from evaluator.judges.needs import needs_second_run
from evaluator.pipeline.keys import Keys, Subject, home_of, is_executable, key_of
from evaluator.progress import Progress
from evaluator.records import Evidence, Finding, Outcome, Step, Task, Trial, Verdict, command_digest
from evaluator.sandbox.evidence import Answer, Request
from evaluator.store import Judged, Run, Store
from evaluator.suites.load import Suite

SPACING_S: Final = 2.0
"""Between a command's two runs. The clock is pinned, so only what leaks past the pins can differ by it."""

Execute = Callable[[Sequence[Request]], Iterator[tuple[Request, Answer]]]


class Stale(NamedTuple):
    """A subject without a verdict under its key, and why."""

    subject: Subject
    why: str


class Plan(NamedTuple):
    """What grading would do: subjects to judge, and how many executions that takes at least."""

    stale: tuple[Stale, ...]
    executions: int


@dataclass
class Grader:
    """Grades commands of one suite by one judge. `execute` is called with what has no evidence yet."""

    suite: Suite
    judge: Judge
    store: Store
    fingerprint: str
    execute: Execute
    progress: Progress
    spacing_s: float = SPACING_S
    keys: Keys = field(init=False)
    _tasks: dict[str, Task] = field(init=False)
    _evidence: dict[Run, Evidence] = field(init=False, default_factory=dict)
    _failures: dict[str, InfraError] = field(init=False, default_factory=dict)
    _executed_at: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._tasks = {task.id: task for task in self.suite.tasks}
        self.keys = Keys(self.suite, self.judge, self.fingerprint)

    # -- what is stale

    def plan(self, subjects: Iterable[Subject]) -> Plan:
        """What has no verdict yet, why, and what it would take."""
        stale = [Stale(each, self._why(each)) for each in self._without_verdict(dict.fromkeys(subjects))]
        runs = {} if self.judge.basis is Basis.TEXT else self._first_runs([each.subject for each in stale])
        known = self.store.known_runs({key for key, _ in runs})
        return Plan(tuple(stale), len(runs.keys() - known))

    def _without_verdict(self, subjects: Iterable[Subject]) -> list[Subject]:
        keys = {subject: self.keys.key(subject) for subject in subjects}
        known = self.store.verdicts(keys.values())
        return [subject for subject, key in keys.items() if key not in known]

    def _why(self, subject: Subject) -> str:
        parts = self.keys.parts(subject)
        digest = command_digest(subject.command or b"")
        judged = self.store.earlier(self.suite.manifest.name, subject.task, digest)
        # a reference that `suite verify` judged by the others was asked something else
        earlier = [each for each in judged if each.parts.get("against") == parts["against"]]
        if not earlier:
            return "never judged"
        closest = max(earlier, key=lambda each: sum(each.parts.get(name) == value for name, value in parts.items()))
        changed = [name for name, value in parts.items() if closest.parts.get(name) != value]
        words = {"command": "world, limits, clock or base changed", "references": "references or their worlds changed"}
        return "; ".join(words.get(name, f"{name} changed") for name in changed)

    # -- grading

    def grade(self, subjects: Iterable[Subject]) -> dict[Subject, Finding]:
        """A finding for every subject. Verdicts are kept as soon as they are known; infra-errors never are."""
        keys = {subject: self.keys.key(subject) for subject in dict.fromkeys(subjects)}
        known = self.store.verdicts(keys.values())
        findings = {subject: known[key].finding for subject, key in keys.items() if key in known}
        pending = [subject for subject in keys if subject not in findings]
        if pending:
            if self.judge.basis is not Basis.TEXT:
                self._gather(pending)
            fresh = self._judge(pending)
            self._keep(fresh)
            findings |= fresh
        return findings

    def trials(self, task: str, command: bytes) -> dict[str, Trial]:
        """Evidence of a command by variant, as far as there is any."""
        found = {}
        for name, (key, _) in self.keys.requests(task, command).items():
            first = self._evidence.get((key, 0))
            if first is not None:
                found[name] = Trial(first=first, again=self._evidence.get((key, 1)))
        return found

    def case(self, subject: Subject) -> Case:
        """The case of a subject from the evidence at hand; call `gather` before."""
        candidate = None
        if subject.command is not None:
            trials = self.trials(subject.task, subject.command) if is_executable(subject.command) else {}
            candidate = Executed(subject.command, trials)
        references = tuple(Executed(each, self.trials(subject.task, each)) for each in self.keys.references(subject))
        manifest = self.suite.manifest
        return Case(self._tasks[subject.task], references, candidate, home_of(manifest), manifest.scratch)

    def gather(self, subjects: Iterable[Subject]) -> None:
        """See to it that the evidence of these subjects is at hand, executing what is missing."""
        self._gather(list(subjects))

    def failure(self, task: str, command: bytes) -> InfraError | None:
        """The failure of ours that keeps a command from having evidence, if there is one."""
        failed = (self._failures.get(key) for key, _ in self.keys.requests(task, command).values())
        return next((each for each in failed if each is not None), None)

    def _first_runs(self, subjects: Sequence[Subject]) -> dict[Run, Request]:
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
        runs: dict[Run, Request] = {}
        for task, command in ordered:
            runs |= {(key, 0): request for key, request in self.keys.requests(task, command).values()}
        for task, command in ordered:
            if (task, command) in references:
                runs |= {(key, 1): request for key, request in self.keys.requests(task, command).values()}
        return runs

    def _gather(self, subjects: Sequence[Subject]) -> None:
        runs = self._first_runs(subjects)
        self._obtain({run: request for run, request in runs.items() if run[1] == 0}, "executing")
        self._obtain({run: request for run, request in runs.items() if run[1] == 1}, "executing references again")
        # what an earlier judging ran twice belongs to the case as well
        again = {(key, 1) for key, _ in runs} - self._evidence.keys()
        self._evidence |= self.store.evidence(again)

    def _obtain(self, runs: Mapping[Run, Request], stage: str) -> None:
        """Bring evidence of these runs to hand: from the store, and by execution what is not there."""
        self._evidence |= self.store.evidence(run for run in runs if run not in self._evidence)
        missing = {run: request for run, request in runs.items() if run not in self._evidence}
        if not missing:
            return
        second = next(iter(missing))[1] == 1
        if second:
            time.sleep(max(0.0, self._executed_at + self.spacing_s - time.monotonic()))
        self.progress.stage(stage, len(missing))
        by_request = {id(request): run for run, request in missing.items()}
        for request, answer in self.execute(list(missing.values())):
            run = by_request[id(request)]
            if isinstance(answer, InfraError):
                self._failures[run[0]] = answer
            else:
                self._evidence[run] = answer
                self.store.add_evidence(run, answer)
            self.progress.advance()
        self._executed_at = time.monotonic() if not second else self._executed_at

    def _judge(self, subjects: Sequence[Subject]) -> dict[Subject, Finding]:
        """Judge, run again what did not pass, and judge that again until nothing new is to be run.

        Where the second run fails for a reason of ours, judging again says so.
        """
        findings: dict[Subject, Finding] = {}
        pending = list(subjects)
        while pending:
            self.progress.stage("judging", len(pending))
            for subject in pending:
                findings[subject] = self._find(subject)
                self.progress.advance()
            again = {subject: runs for subject in pending if (runs := self._second_runs(subject, findings[subject]))}
            self._obtain({run: each for runs in again.values() for run, each in runs.items()}, "executing again")
            pending = list(again)
        return findings

    def _find(self, subject: Subject) -> Finding:
        commands = [*self.keys.references(subject), *([subject.command] if is_executable(subject.command) else [])]
        for command in commands:
            if command is not None and (failure := self.failure(subject.task, command)):
                return Finding(outcome=Outcome.INFRA_ERROR, step=Step.INFRA, reason=str(failure)[:500])
        return self.judge.judge(self.case(subject))

    def _second_runs(self, subject: Subject, finding: Finding) -> dict[Run, Request]:
        if subject.command is None or self.judge.basis is not Basis.REPEATS or not needs_second_run(finding):
            return {}
        requests = self.keys.requests(subject.task, subject.command)
        names = [finding.variant] if finding.variant in requests else list(requests)
        runs = {(requests[name][0], 1): requests[name][1] for name in names if name is not None}
        return {run: request for run, request in runs.items() if run not in self._evidence}

    def _keep(self, findings: Mapping[Subject, Finding]) -> None:
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
            judged.append(Judged(verdict, parts))
        self.store.add_verdicts(judged)
