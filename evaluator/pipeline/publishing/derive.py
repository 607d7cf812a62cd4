"""Derive a submission's verdicts from existing evidence. No command is executed, and no other submission is involved.

A hostile command could escape from its sandbox and forge the evidence of the job that executes it. So a submission is
judged only from its own evidence and the evidence of the tasks' references, in a temporary store that no other
submission uses. A forgery can change no other submission's row on the board. Equal evidence and equal replies of the
LLM panel give equal verdicts, byte for byte. So any user can derive a published verdict file again (see `verify`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.errors import InfraError
from evaluator.judges.case import EvidenceNeed
from evaluator.judges.panel.reply_cache import Reply, ReplyCache
from evaluator.model_server.budget import Budget
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.grader import Grader, PanelPlan
from evaluator.pipeline.grading.llm_panel import LEDGER, PanelItem, PanelPair, ask_panel, plan_panel, replies_of
from evaluator.pipeline.grading.results import answers, chains_of, final_findings
from evaluator.pipeline.grading.run_metrics import NOTHING_RUN, case_of, run_metrics_of
from evaluator.pipeline.publishing.suite_context import SuiteContext
from evaluator.progress import NullProgress
from evaluator.records import (
    Evidence,
    Finding,
    Outcome,
    PublishedVerdict,
    RunMetrics,
    Step,
    VerdictsHeader,
    command_digest,
)
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.store import RunKey, Store
from evaluator.submissions.validate import Submission

MAX_PLACE_BYTES: Final = 4096
"""Published bytes of a finding's place. Paths are never longer, but names of variables can be."""

_ABSENT: Final = InfraError("its evidence is not at hand")


@dataclass(frozen=True, slots=True)
class AvailableEvidence:
    """The evidence of a submission's own commands, and the panel's replies that the published verdicts depend on."""

    evidence: Mapping[RunKey, Evidence] = field(default_factory=dict)
    replies: tuple[Reply, ...] = ()


class UnjudgedItem(NamedTuple):
    """A command without a verdict, and the infrastructure failure that prevented the verdict."""

    item: GradingItem
    reason: str


@dataclass(frozen=True, slots=True)
class DerivedVerdicts:
    """The verdicts on one submission's commands for one suite, sorted by cache key and task.

    `missing` lists the commands without a verdict. `replies` are the panel's replies that the verdicts depend on.
    `panel` is the cost of asking the panel about the undecided commands, or None if the cost was not computed.
    """

    submission: str
    header: VerdictsHeader
    verdicts: tuple[PublishedVerdict, ...]
    missing: tuple[UnjudgedItem, ...] = ()
    replies: tuple[Reply, ...] = ()
    panel: PanelPlan | None = None


class SubmissionRun:
    """One submission's commands for one suite, with the cache keys of their verdicts.

    Each different command for a task is one item. In `items`, first choices for all tasks come before second choices.
    Each of `chains` has the items of one task, best first. Equal commands stand in it several times.
    """

    def __init__(self, context: SuiteContext, submission: Submission) -> None:
        self.context, self.submission = context, submission
        candidates = list(answers(context.suite, [submission]))
        self.chains = [tuple(candidate.subject for candidate in chain) for chain in chains_of(candidates)]
        by_rank = sorted(candidates, key=lambda candidate: candidate.rank)
        self.items = tuple(dict.fromkeys(candidate.subject for candidate in by_rank))
        self._keys = context.keys
        self._keys.plan_items(self.items)

    @property
    def header(self) -> VerdictsHeader:
        """Return the header that the submission's verdict file would have if it were judged now."""
        return self.context.header(self.submission)

    @cached_property
    def fresh_references(self) -> frozenset[RunKey]:
        """Return the keys of the references' runs in the submission's fresh variants."""
        return self.context.required.fresh_references(self.submission)

    @cached_property
    def reference_runs(self) -> frozenset[RunKey]:
        """Return the keys of all runs of references that the submission's verdicts depend on."""
        return self.context.required.references | self.fresh_references

    @cached_property
    def runs(self) -> frozenset[RunKey]:
        """Return the keys of all runs of the submission's commands. Commands that are references are left out."""
        keys = {key for item in self.items for key in self._evidence_keys(item)}
        return frozenset((key, run) for key in keys for run in (0, 1)) - self.reference_runs

    def missing_references(self, available: AvailableEvidence) -> int:
        """Return the number of reference runs without evidence."""
        if self.context.judge.basis is EvidenceNeed.TEXT:
            return 0
        absent = {run for run in self.fresh_references if run not in available.evidence}
        known = self.context.store.known_runs({key for key, _ in absent})
        return self.context.missing_references + len(absent - known)

    def key(self, item: GradingItem) -> str:
        """Return the current cache key of an item's verdict."""
        return self._keys.plan_item(item).key

    def first_of_chains(self, items: Collection[GradingItem]) -> list[GradingItem]:
        """Return the first of these items in each chain. Only these are sure to run: one of them may pass."""
        firsts = (next((item for item in chain if item in items), None) for chain in self.chains)
        return [item for item in firsts if item is not None]

    def final(self, findings: Mapping[GradingItem, Finding]) -> dict[GradingItem, Finding]:
        """Return the final findings of all chains (see `final_findings`)."""
        return {item: finding for chain in self.chains for item, finding in final_findings(chain, findings).items()}

    def missing_runs(self, items: Iterable[GradingItem], available: AvailableEvidence) -> set[RunKey]:
        """Return the runs without evidence that the verdicts on these items need next. Leave out those of references.

        The verdicts may need more runs after them.
        """
        with self.open_grader(self.preloaded(available)) as grader:
            return grader.missing_runs(items) - self.reference_runs

    def _evidence_keys(self, item: GradingItem) -> Sequence[str]:
        return self._keys.plan_item(item).candidate_keys

    @contextmanager
    def open_grader(self, preloaded: Mapping[RunKey, Evidence]) -> Iterator[Grader]:
        """Open a grader that has only the evidence in `preloaded`, and executes nothing. Its store is temporary."""
        with tempfile.TemporaryDirectory() as folder, closing(Store(Path(folder) / "store.sqlite")) as store:
            yield Grader(
                self.context.suite,
                self.context.judge,
                store,
                self.context.fingerprint,
                _fail_requests,
                NullProgress(),
                rulings=self.context.rulings,
                known_mutants=self.context.known_mutants,
                preloaded=preloaded,
                shared_keys=self._keys,
            )

    def preloaded(self, available: AvailableEvidence) -> dict[RunKey, Evidence]:
        """Return the evidence of the references and of this submission's own commands, and no other evidence."""
        needed = self.runs | self.fresh_references
        own = {run: evidence for run, evidence in available.evidence.items() if run in needed}
        return {**own, **self.context.store.evidence(self.fresh_references), **self.context.references}

    def derive(
        self,
        available: AvailableEvidence,
        panels: PanelPair | None = None,
        ask: Collection[GradingItem] | None = None,
        *,
        plans: bool = False,
    ) -> DerivedVerdicts:
        """Return the verdicts that follow from the references' evidence and this submission's available evidence.

        `panels` decides the undecided items in `ask`, or all undecided items if `ask` is None. For the other undecided
        items, only the replies in `available` are used. If `plans` is set, the result includes the cost of panel
        requests. Raises InfraError if the cache of panel replies cannot be written.
        """
        preloaded = self.preloaded(available)
        asked = set(self.items if ask is None else ask)
        votes: dict[GradingItem, _Vote] = {}
        cost = None
        with self.open_grader(preloaded) as grader:
            findings = grader.grade_chains(self.chains)
            graded = [item for item in self.items if item in findings]
            to_ask = [item for item in graded if item in asked]
            to_replay = [item for item in graded if item not in asked]
            if panels:
                votes |= self._votes(grader, findings, to_ask, panels)
                from evaluator.judges.panel.panel import Panel

                with closing(ReplyCache(grader.store.path.with_name(LEDGER))) as replies:
                    for reply in available.replies:
                        replies.add(reply)
                    replay = PanelPair(Panel(panels.replay.settings, replies, Budget(), NullProgress()))
                    votes |= self._votes(grader, findings, to_replay, replay)
                if plans:
                    cost = plan_panel(panels.replay, grader, self._panel_items(to_ask), self._own_models())
        return self._assemble(findings, votes, preloaded, cost)

    def _run_metrics(self, item: GradingItem, preloaded: Mapping[RunKey, Evidence]) -> RunMetrics | None:
        """Return the run metrics of a command, as a board that is scored from the same evidence shows them."""
        published = self._keys.plan_item(item._replace(seed=""))
        if published.candidate is None:
            return NOTHING_RUN
        case = case_of(self.context.suite, published.candidate, published.references, preloaded)
        return run_metrics_of(case) if case else None

    def _votes(
        self,
        grader: Grader,
        findings: Mapping[GradingItem, Finding],
        items: Sequence[GradingItem],
        panels: PanelPair,
    ) -> dict[GradingItem, _Vote]:
        """Return the panel's decision about each undecided item for which models have replied."""
        panel_items, models = self._panel_items(items), self._own_models()
        if panels.asking is not None:
            ask_panel(panels.asking, grader, panel_items, findings, models)
        replies = replies_of(panels.replay, grader, panel_items, findings, models)
        decisions = ask_panel(panels.replay, grader, replies, findings, models)
        voters = panels.replay.digest(self.context.judge.name, self.submission.manifest.models)
        return {item.subject: _Vote(decisions[item], replies[item], voters) for item in replies}

    def _panel_items(self, items: Sequence[GradingItem]) -> list[PanelItem]:
        return [PanelItem(self.submission.slug, item) for item in items]

    def _own_models(self) -> dict[str, Sequence[str]]:
        """Return a mapping from the submission's slug to the models that the submission uses."""
        return {self.submission.slug: self.submission.manifest.models}

    def _assemble(
        self,
        findings: Mapping[GradingItem, Finding],
        votes: Mapping[GradingItem, _Vote],
        preloaded: Mapping[RunKey, Evidence],
        cost: PanelPlan | None,
    ) -> DerivedVerdicts:
        """Return the verdicts, sorted by cache key and task. An item with an infrastructure failure has no verdict."""
        final = self.final({**findings, **{item: vote.finding for item, vote in votes.items()}})
        failed = {item: finding.reason for item, finding in final.items() if finding.outcome is Outcome.INFRA_ERROR}
        judged = (item for item in self.items if item not in failed)
        verdicts = [
            self.line(item, final[item])
            if final[item].outcome is Outcome.NOT_RUN
            else self._verdict(item, final[item], votes.get(item), preloaded)
            for item in judged
        ]
        replies = {reply.key: reply for vote in votes.values() for reply in vote.replies}
        return DerivedVerdicts(
            self.submission.slug,
            self.header,
            tuple(sorted(verdicts, key=lambda verdict: (verdict.key, verdict.task))),
            tuple(UnjudgedItem(item, reason) for item, reason in failed.items()),
            tuple(replies[key] for key in sorted(replies)),
            cost,
        )

    def _verdict(
        self, item: GradingItem, finding: Finding, vote: _Vote | None, preloaded: Mapping[RunKey, Evidence]
    ) -> PublishedVerdict:
        """Return the verdict to publish for an item. If the judge reads evidence, include run metrics."""
        metrics = None
        if self.context.judge.basis is not EvidenceNeed.TEXT:
            keys = self._evidence_keys(item)
            metrics = self._run_metrics(item, preloaded) if keys else NOTHING_RUN
            metrics = metrics and metrics.model_copy(update={"wall_ms": None})
        place = finding.place[:MAX_PLACE_BYTES] if finding.place else finding.place
        finding = finding.model_copy(update={"place": place})
        return self.line(item, finding, metrics, vote.voters if vote and finding.step is Step.PANEL else None)

    def line(
        self, item: GradingItem, finding: Finding, run: RunMetrics | None = None, panel: str | None = None
    ) -> PublishedVerdict:
        """Return a published line with the item's current cache key."""
        return PublishedVerdict(
            key=self.key(item),
            task=item.task,
            command=command_digest(item.command or b""),
            finding=finding,
            run=run,
            panel=panel,
        )


class _Vote(NamedTuple):
    """The panel's decision about one command, and the panel's replies. `voters` is a digest of the panel's settings."""

    finding: Finding
    replies: tuple[Reply, ...]
    voters: str


def _fail_requests(requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
    """Yield an infrastructure failure for every request to execute a command. No command is executed."""
    for request in requests:
        yield request, _ABSENT
