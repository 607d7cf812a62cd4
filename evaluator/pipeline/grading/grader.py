"""Grade commands: execute and judge each command, and return a finding.

A verdict is stored under a cache key, the digest of everything that the verdict depends on. An item is outdated if the
store has no verdict under its current key, and only outdated items are judged. Evidence has keys too, and only runs
without evidence are executed.

The judge asks for the runs that it needs: of the candidate in one variant after another, and a second run if a
nondeterministic field could be the cause of a failure (see `judges/case.py`). A case gets exactly these runs, even if
the store has others. So a verdict never depends on what else was executed, and every executed run can decide something.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import InitVar, dataclass, field, replace
from typing import Final, NamedTuple

from evaluator.errors import InfraError
from evaluator.judges.case import Case, EvidenceNeed, Executed, Judge, NeededRuns, decide
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


@dataclass(slots=True)
class _ItemInProgress:
    """An item that is being graded, and the runs that the judge has asked for so far, in this order."""

    planned: PlannedItem
    runs: dict[RunKey, None] = field(default_factory=dict)


@dataclass
class Grader:
    """Grades commands of one suite with one judge. The grader calls `execute` with requests to get missing evidence.

    Evidence in `preloaded` takes precedence over the evidence in the store. `shared_keys` are existing keys of the same
    suite, judge, fingerprint, rulings and known mutants.
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
    shared_keys: InitVar[CacheKeys | None] = None
    keys: CacheKeys = field(init=False)
    _scheduler: EvidenceScheduler[_ItemInProgress] = field(init=False)

    def __post_init__(self, shared_keys: CacheKeys | None) -> None:
        self.keys = shared_keys or CacheKeys(self.suite, self.judge, self.fingerprint, self.rulings, self.known_mutants)
        self._scheduler = EvidenceScheduler(self.store, self.execute, self.progress, self.spacing_s)
        self._scheduler.evidence.update(self.preloaded)

    def plan(self, items: Iterable[GradingItem]) -> Plan:
        """Plan the grading of these items.

        Return the items without a verdict, each with the reason, and the minimum number of executions.
        """
        planned = self._plan_items(items)
        findings = self._stored_findings(planned)
        pending = [plan for plan in planned if plan.item not in findings]
        outdated = tuple(Outdated(plan.item, self._why_outdated(plan)) for plan in pending)
        return Plan(outdated, len(self.missing_runs(plan.item for plan in pending)))

    def _plan_items(self, items: Iterable[GradingItem]) -> list[PlannedItem]:
        return self.keys.plan_items(items)

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
        return self.grade_chains((item,) for item in dict.fromkeys(items))

    def grade_chains(self, chains: Iterable[Sequence[GradingItem]]) -> dict[GradingItem, Finding]:
        """Grade the items of each chain in order, up to the first item that passes, and store the new verdicts.

        A chain holds the candidates of a submission for one task. Return the findings on the graded items, and none on
        the items behind a pass. An item may be in several chains.
        """
        ordered = sorted((tuple(chain) for chain in chains if chain), key=self._position)
        planned = {plan.item: plan for plan in self._plan_items(item for chain in ordered for item in chain)}
        known = self._stored_findings(list(planned.values()))
        findings = self._grade_chains(ordered, known)
        fresh = {item: finding for item, finding in findings.items() if item not in known}
        decided = (item for item, finding in fresh.items() if finding.outcome is not Outcome.INFRA_ERROR)
        self.store.add_verdicts([self.judged_verdict(planned[item], fresh[item]) for item in decided])
        return findings

    def ensure_cases(self, items: Iterable[GradingItem]) -> None:
        """Load the runs that the verdicts on these items depend on, and execute those without evidence.

        A stored verdict may outlive its evidence.
        """
        self._grade_chains(sorted(((item,) for item in dict.fromkeys(items)), key=self._position), {})

    def _position(self, chain: Sequence[GradingItem]) -> tuple[object, ...]:
        """Return the sort key of a chain. Chains of one world come together, because building a world takes time."""
        task = self.keys.plan_item(chain[0]).task
        return task.world, task.id, tuple((item.command or b"", item.without or 0, item.seed) for item in chain)

    def _grade_chains(
        self, chains: Iterable[Sequence[GradingItem]], known: Mapping[GradingItem, Finding]
    ) -> dict[GradingItem, Finding]:
        """Return the findings on the items of each chain up to the first that passes. Judge those not in `known`.

        There are no rounds: each item gets its next runs, and each chain its next item, as soon as a result shows that
        they are needed.
        """
        findings: dict[GradingItem, Finding] = {}
        waiting: dict[GradingItem, list[deque[GradingItem]]] = {}

        def advance(chain: deque[GradingItem]) -> None:
            """Drop the chain's items that do not pass. Begin the first item without a finding, if there is one."""
            while chain:
                item = chain[0]
                finding = findings.get(item) or known.get(item)
                if finding is None:
                    if item not in waiting:
                        self._begin(item)
                    waiting.setdefault(item, []).append(chain)
                    return
                findings[item] = finding
                if finding.outcome is Outcome.PASS:
                    return
                chain.popleft()

        for chain in chains:
            advance(deque(chain))
        with closing(self._scheduler.completed()) as completed:
            for attempt in completed:
                if finding := self._proceed(attempt):
                    findings[attempt.planned.item] = finding
                    for waiter in waiting.pop(attempt.planned.item):
                        advance(waiter)
        return findings

    def _begin(self, item: GradingItem) -> None:
        planned = self.keys.plan_item(item)
        if self._is_judged_by_runs(planned):
            self._scheduler.load_cached(planned.evidence_keys)
        self._scheduler.submit(_ItemInProgress(planned), [])

    def _is_judged_by_runs(self, planned: PlannedItem) -> bool:
        """Return whether the finding on an item may depend on a run. No other command is executed, nor references."""
        return self.judge.basis is not EvidenceNeed.TEXT and bool(planned.candidate_keys)

    def _proceed(self, attempt: _ItemInProgress) -> Finding | None:
        """Return the finding on an item, or request the runs that the judge needs next and return None.

        If one of the item's runs failed for an infrastructure reason, the finding reports the failure.
        """
        evidence, failures = self._scheduler.evidence, self._scheduler.failures
        if failure := next((failures[run] for run in attempt.runs if run not in evidence and run in failures), None):
            return Finding(outcome=Outcome.INFRA_ERROR, step=Step.INFRA, reason=str(failure)[:500])
        step = self._next_step(attempt, self._case(attempt.planned, attempt.runs))
        if isinstance(step, Finding):
            return self._ruled(attempt.planned, step)
        self._scheduler.submit(attempt, step)
        return None

    def _next_step(self, attempt: _ItemInProgress, case: Case) -> Finding | list[Request]:
        """Return the judge's finding on an item, or requests of the runs that the judge needs next.

        `case` has the runs of the attempt. The needed runs are added to those of the attempt.
        """
        planned = attempt.planned
        step = decide(self.judge, case) if self._is_judged_by_runs(planned) else self.judge.judge(case)
        if isinstance(step, Finding):
            return step
        requests = [request for needed in step for request in self._requests(planned, needed)]
        expected_s = planned.expected_s(self._scheduler.evidence)
        requests = [
            replace(request, expected_s=expected_s) for request in requests if request.run_key not in attempt.runs
        ]
        attempt.runs |= dict.fromkeys(request.run_key for request in requests)
        return requests or self.judge.judge(case)  # no shell could be given a reference

    def _requests(self, planned: PlannedItem, needed: NeededRuns) -> Iterator[Request]:
        candidates = [planned.candidate] if planned.candidate else []
        for command in candidates if needed.of_candidate else planned.references:
            for name in needed.variants if command.keys else ():
                first = command.requests[name]
                yield first.second_run() if needed.repeat else first

    def _ruled(self, planned: PlannedItem, finding: Finding) -> Finding:
        """Return the finding, or that of a maintainer's ruling."""
        ruling = planned.ruling
        if ruling is None:
            return finding
        return Finding(
            outcome=ruling.ruling.outcome,
            step=Step.ADJUDICATION,
            reason=f"a maintainer ruled so: {ruling.because}",
            collateral=finding.collateral,
        )

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
        """Load all evidence of these items, and execute the missing runs, also those that decide no verdict.

        A candidate runs once in every variant, and a reference twice. First come the first runs of all commands, then
        the second runs of the references. Each of these two groups is sorted by world.
        """
        if self.judge.basis is EvidenceNeed.TEXT:
            return
        references: dict[tuple[str, bytes, str], CommandRuns] = {}
        candidates: dict[tuple[str, bytes, str], CommandRuns] = {}
        for plan in self._plan_items(items):
            references |= {(plan.task.id, runs.command, plan.item.seed): runs for runs in plan.references}
            if plan.candidate:
                candidates[plan.task.id, plan.candidate.command, plan.item.seed] = plan.candidate
        commands = sorted((candidates | references).items(), key=lambda entry: (entry[1].task.world, entry[0]))
        first = [request for _, runs in commands for request in runs.requests.values()]
        repeated = (runs for position, runs in commands if position in references)
        second = [request.second_run() for runs in repeated for request in runs.requests.values()]
        self._scheduler.load_cached({request.run_key[0] for request in first})
        self._scheduler.request((*first, *second))
        self._scheduler.finish()

    def load_cached(self, items: Iterable[GradingItem]) -> list[GradingItem]:
        """Load the evidence of these items, but execute nothing. Return the items with a complete case."""
        return [plan.item for plan in self._plan_items(items) if not self._stored_case(plan)[1]]

    def missing_runs(self, items: Iterable[GradingItem]) -> set[RunKey]:
        """Return the runs without evidence that the judge needs next for these items. It may need more after them."""
        planned = self._plan_items(items)
        self._scheduler.load_cached(
            key for plan in planned if self._is_judged_by_runs(plan) for key in plan.evidence_keys
        )
        return {request.run_key for plan in planned for request in self._stored_case(plan)[1]}

    def case(self, item: GradingItem) -> Case:
        """Return the judge's input for an item: the runs that the verdict depends on, as far as there is evidence.

        Its variants are those in which the candidate ran, if it ran at all.
        """
        case, _ = self._stored_case(self.keys.plan_item(item))
        return case.until(len(case.candidate.trials)) if case.candidate and case.candidate.trials else case

    def full_case(self, item: GradingItem) -> Case:
        """Return a case with all evidence of an item in memory, also with runs that do not decide its verdict.

        Call `ensure_evidence` first.
        """
        return self._case(self.keys.plan_item(item), None)

    def _stored_case(self, planned: PlannedItem) -> tuple[Case, list[Request]]:
        """Return the case of an item as far as there is evidence, and requests of the next runs without evidence."""
        attempt = _ItemInProgress(planned)
        if self._is_judged_by_runs(planned):
            self._scheduler.load_cached(planned.evidence_keys)
        lacking: list[Request] = []
        while not lacking:
            case = self._case(planned, attempt.runs)
            step = self._next_step(attempt, case)
            if isinstance(step, Finding):
                return case, []
            lacking = [request for request in step if request.run_key not in self._scheduler.evidence]
        return case, lacking

    def _case(self, planned: PlannedItem, runs: Container[RunKey] | None) -> Case:
        """Return the case with these runs of the item's commands, or with all runs in memory."""

        def executed(command: CommandRuns) -> Executed:
            return Executed(command.command, self._scheduler.trials(command.keys, runs))

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
            planned.variants,
            planned.fresh,
        )

    def trials(self, task: str, command: bytes) -> dict[str, Trial]:
        """Return a command's evidence from memory. Variants without evidence are left out."""
        return self._scheduler.trials(self.keys.command_runs(task, command).keys)

    def failure(self, task: str, command: bytes) -> InfraError | None:
        """Return the infrastructure error of a command's latest execution, or None if there was no such error."""
        return self._scheduler.failure(self.keys.command_runs(task, command).evidence_keys)
