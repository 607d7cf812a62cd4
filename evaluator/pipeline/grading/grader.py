"""Grade commands: execute and judge each command, and return a finding.

A verdict is stored under a cache key, the digest of everything that the verdict depends on. An item is outdated if the
store has no verdict under its current key, and only outdated items are judged. Evidence has keys too, and only runs
without evidence are executed.

A candidate is executed once in each variant. A reference is executed twice, with a pause between the two runs. If a
candidate does not pass, it is executed once more in the variant that decided the verdict, and judged again. The second
judgement ignores effects that differ between the two runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from evaluator.errors import InfraError
from evaluator.judges.case import Case, EvidenceNeed, Executed, Judge, needs_second_run
from evaluator.pipeline.grading.cache_keys import (
    CacheKeys,
    CommandRuns,
    GradingItem,
    MutantLookup,
    PlannedItem,
    Rulings,
    cwd_of,
    home_of,
    key_of,
    no_known_mutants,
)
from evaluator.pipeline.grading.scheduler import EvidenceScheduler, Execute
from evaluator.progress import Progress
from evaluator.records import Evidence, Finding, Outcome, Step, Trial, Verdict, command_digest
from evaluator.sandbox.requests import Request
from evaluator.store import JudgedVerdict, RunKey, Store
from evaluator.suites.load import Suite

SPACING_S: Final = 2.0
"""Seconds between a command's two runs. The clock is pinned, so only an effect that escapes the pinning can differ."""


class Outdated(NamedTuple):
    """A grading item that has no verdict under its current cache key, and the reason."""

    subject: GradingItem
    why: str


class Plan(NamedTuple):
    """The work to grade some commands: the items without a verdict, and the minimum number of executions.

    `panel` is the work of the LLM panel on items that the judge left undecided, or None if there is no panel.
    """

    stale: tuple[Outdated, ...]
    executions: int
    panel: PanelPlan | None = None


class PanelPlan(NamedTuple):
    """The panel's work: the number of undecided answers, and the number and cost of the model calls.

    `calls` is the maximum number of calls. `usd` is their approximate cost, or None if a price is unknown. An answer
    that is not judged yet is not counted, although the judge may leave it undecided later.
    """

    undecided: int
    calls: int
    usd: float | None


@dataclass
class Grader:
    """Grades commands of one suite with one judge. The grader calls `execute` with requests to get missing evidence.

    Evidence in `preloaded` takes precedence over the evidence in the store.
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
    _scheduler: EvidenceScheduler[list[PlannedItem]] = field(init=False)

    def __post_init__(self) -> None:
        self.keys = CacheKeys(self.suite, self.judge, self.fingerprint, self.rulings, self.known_mutants)
        self._scheduler = EvidenceScheduler(self.store, self.execute, self.progress, self.spacing_s)
        self._scheduler.evidence.update(self.preloaded)

    def plan(self, items: Iterable[GradingItem]) -> Plan:
        """Plan the grading of these items.

        Return the items without a verdict, each with the reason, and the minimum number of executions.
        """
        planned = self._plan_items(items)
        findings = self._stored_findings(planned)
        pending = [plan for plan in planned if plan.item not in findings]
        runs = self._required_runs(pending)
        stored = self.store.known_runs({key for key, _ in runs})
        return Plan(tuple(Outdated(plan.item, self._why_outdated(plan)) for plan in pending), len(runs.keys() - stored))

    def _plan_items(self, items: Iterable[GradingItem]) -> list[PlannedItem]:
        return [self.keys.plan_item(item) for item in dict.fromkeys(items)]

    def _why_outdated(self, planned: PlannedItem) -> str:
        parts = planned.parts
        digest = command_digest(planned.item.command or b"")
        judged = self.store.earlier(self.suite.manifest.name, planned.item.task, digest)
        # `suite verify` judges a reference by the other references, which is another question
        earlier = [verdict for verdict in judged if verdict.parts.get("against") == parts["against"]]
        if not earlier:
            return "never judged"
        closest = max(earlier, key=lambda old: sum(old.parts.get(name) == value for name, value in parts.items()))
        changed = [name for name, value in parts.items() if closest.parts.get(name) != value]
        words = {
            "command": "world, limits, clock or base changed",
            "references": "references or their worlds changed",
            "slip": "marks of harmless slips changed",
        }
        return "; ".join(words.get(name, f"{name} changed") for name in changed)

    def known(self, items: Iterable[GradingItem]) -> dict[GradingItem, Finding]:
        """Return the findings on the items that already have a verdict."""
        return self._stored_findings(self._plan_items(items))

    def _stored_findings(self, planned: Sequence[PlannedItem]) -> dict[GradingItem, Finding]:
        verdicts = self.store.verdicts(plan.key for plan in planned)
        return {plan.item: verdicts[plan.key].finding for plan in planned if plan.key in verdicts}

    def grade(self, items: Iterable[GradingItem]) -> dict[GradingItem, Finding]:
        """Return a finding for every item, and store each new verdict unless it is an infra-error."""
        planned = self._plan_items(items)
        findings = self._stored_findings(planned)
        pending = {plan.item: plan for plan in planned if plan.item not in findings}
        if pending:
            fresh = self._judge(list(pending.values()))
            decided = (item for item, finding in fresh.items() if finding.outcome is not Outcome.INFRA_ERROR)
            self.store.add_verdicts([self.judged_verdict(pending[item], fresh[item]) for item in decided])
            findings |= fresh
        return findings

    def grade_chains(self, chains: Iterable[Sequence[GradingItem]]) -> dict[GradingItem, Finding]:
        """Grade the candidates of each chain in order, up to the first one that passes.

        Return the findings of the graded candidates. All chains are graded at the same time, one candidate of each.
        """
        findings: dict[GradingItem, Finding] = {}
        waiting = [list(dict.fromkeys(chain)) for chain in chains if chain]
        while waiting:
            findings |= self.grade(chain[0] for chain in waiting)
            waiting = [chain[1:] for chain in waiting if chain[1:] and findings[chain[0]].outcome is not Outcome.PASS]
        return findings

    def _judge(self, pending: Sequence[PlannedItem]) -> dict[GradingItem, Finding]:
        """Judge items. If an item does not pass, execute its command a second time and judge the item again.

        An item is finished if no further second run may change its finding. If a second run fails for an infrastructure
        reason, the second judgement reports the failure. Items with the same evidence are judged together, so that a
        second run for one item does not affect the first judgement of another item.
        """
        findings: dict[GradingItem, Finding] = {}
        required = self._request_runs(pending)
        groups: dict[object, list[PlannedItem]] = {}
        for planned in pending:
            groups.setdefault(planned.candidate_keys or planned.item, []).append(planned)
        for group in groups.values():
            runs = {(key, repeat) for planned in group for key in planned.evidence_keys for repeat in (0, 1)}
            self._scheduler.submit(group, [required[run] for run in sorted(runs & required.keys())])
        with closing(self._scheduler.completed()) as completed:
            for group in completed:
                findings |= {planned.item: self._find(planned) for planned in group}
                repeats = [self._second_runs(planned, findings[planned.item]) for planned in group]
                if any(repeats):
                    again = [planned for planned, requests in zip(group, repeats, strict=True) if requests]
                    self._scheduler.submit(again, [request for requests in repeats for request in requests])
        return findings

    def _request_runs(self, planned: Sequence[PlannedItem]) -> dict[RunKey, Request]:
        """Load the evidence that these items need, and queue the runs without evidence.

        Return the requests of all runs.
        """
        runs = self._required_runs(planned)
        self._scheduler.load_cached({key for key, _ in runs})
        self._scheduler.request(runs.values())
        return runs

    def _required_runs(self, planned: Iterable[PlannedItem]) -> dict[RunKey, Request]:
        """Return the runs that these items need, as a mapping from run key to request.

        First come the first runs of all candidates and references, then the second runs of the references. Each of
        these two groups is sorted by world.
        """
        if self.judge.basis is EvidenceNeed.TEXT:
            return {}
        references: dict[tuple[str, bytes, str], CommandRuns] = {}
        candidates: dict[tuple[str, bytes, str], CommandRuns] = {}
        for plan in planned:
            references |= {(plan.task.id, runs.command, plan.item.seed): runs for runs in plan.references}
            if plan.candidate:
                candidates[plan.task.id, plan.candidate.command, plan.item.seed] = plan.candidate
        commands = sorted((candidates | references).items(), key=lambda entry: (entry[1].task.world, entry[0]))
        first = [request for _, runs in commands for request in runs.requests.values()]
        repeated = (runs for position, runs in commands if position in references)
        second = [request.second_run() for runs in repeated for request in runs.requests.values()]
        return {request.run_key: request for request in (*first, *second)}

    def _find(self, planned: PlannedItem) -> Finding:
        for runs in (*planned.references, *([planned.candidate] if planned.candidate else [])):
            if failure := self._scheduler.failure(runs.requests.values()):
                return Finding(outcome=Outcome.INFRA_ERROR, step=Step.INFRA, reason=str(failure)[:500])
        finding = self.judge.judge(self._case(planned))
        ruling = planned.ruling
        if ruling is None:
            return finding
        return Finding(
            outcome=ruling.ruling.outcome,
            step=Step.ADJUDICATION,
            reason=f"a maintainer ruled so: {ruling.because}",
            collateral=finding.collateral,
        )

    def _second_runs(self, planned: PlannedItem, finding: Finding) -> list[Request]:
        """Return requests for the candidate's second runs that have no evidence yet and may change the finding."""
        if planned.candidate is None or self.judge.basis is not EvidenceNeed.REPEATS or not needs_second_run(finding):
            return []
        requests = planned.candidate.requests
        decisive = requests.get(finding.variant or "")
        seconds = (request.second_run() for request in ([decisive] if decisive else requests.values()))
        return [request for request in seconds if request.run_key not in self._scheduler.evidence]

    def judged_verdict(
        self, planned: PlannedItem, finding: Finding, parts: Mapping[str, str] | None = None
    ) -> JudgedVerdict:
        """Return the verdict to store for a finding.

        `parts` are the parts of the verdict's cache key. By default, they come from the item. A panel's verdict has
        other parts.
        """
        parts = planned.parts if parts is None else parts
        verdict = Verdict(
            key=key_of(parts),
            suite=self.suite.manifest.name,
            task=planned.item.task,
            command=command_digest(planned.item.command or b""),
            judge=self.judge.name,
            judge_version=self.judge.version,
            finding=finding,
        )
        return JudgedVerdict(verdict, parts)

    def ensure_evidence(self, items: Iterable[GradingItem]) -> None:
        """Load the evidence of these items, and execute the runs that have no evidence."""
        self._request_runs(self._plan_items(items))
        self._scheduler.finish()

    def load_cached(self, items: Iterable[GradingItem]) -> list[GradingItem]:
        """Load the evidence of these items, but execute nothing. Return the items with complete evidence."""
        planned = self._plan_items(items)
        if self.judge.basis is EvidenceNeed.TEXT:
            return [plan.item for plan in planned]
        self._scheduler.load_cached({key for plan in planned for key in plan.evidence_keys})
        evidence = self._scheduler.evidence
        return [plan.item for plan in planned if all((key, 0) in evidence for key in plan.evidence_keys)]

    def case(self, item: GradingItem) -> Case:
        """Return the judge's input for an item, from the evidence in memory. Call `ensure_evidence` first."""
        return self._case(self.keys.plan_item(item))

    def _case(self, planned: PlannedItem) -> Case:
        def executed(runs: CommandRuns) -> Executed:
            return Executed(runs.command, self._scheduler.trials(runs.requests))

        return Case(
            planned.task,
            tuple(map(executed, planned.references)),
            executed(planned.candidate) if planned.candidate else None,
            home_of(self.suite.manifest),
            self.suite.manifest.scratch,
            cwd_of(self.suite, planned.task),
            planned.is_known_mutant,
            self.suite.instructions(planned.task),
            self.suite.contested(planned.task),
        )

    def trials(self, task: str, command: bytes) -> dict[str, Trial]:
        """Return a command's evidence from memory. Variants without evidence are left out."""
        return self._scheduler.trials(self.keys.command_runs(task, command).requests)

    def failure(self, task: str, command: bytes) -> InfraError | None:
        """Return the infrastructure error of a command's latest execution, or None if there was no such error."""
        return self._scheduler.failure(self.keys.command_runs(task, command).requests.values())
