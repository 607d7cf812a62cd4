"""Verdicts derived from evidence that is there: each submission's by itself, and nothing is ever executed.

Who executes a submission's commands is one escape away from whoever wrote them, so its evidence may be forged. A
submission is therefore judged from the references' evidence and from its own, in a store of its own that nothing else
sees: a forgery moves the row of whoever forged it and no other. The same evidence and replies give the same verdicts,
byte for byte, so anybody can derive a published file again (`verifying`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.errors import InfraError
from evaluator.judges.case import EvidenceNeed
from evaluator.judges.panel.budget import Budget
from evaluator.judges.panel.panel import Panel
from evaluator.judges.panel.reply_cache import Reply, ReplyCache
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.grader import Grader, PanelPlan
from evaluator.pipeline.grading.llm_panel import PanelItem, PanelPair, ask_panel, plan_panel, replies_of
from evaluator.pipeline.grading.results import answers
from evaluator.pipeline.grading.run_metrics import NOTHING_RUN, run_metrics_of
from evaluator.pipeline.grading.verdict_files import VerdictFile
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
from evaluator.suites.load import Suite

MAX_PLACE_BYTES: Final = 4096
"""Of a finding's place that are published: a path is no longer, a variable's name may be."""

_ABSENT: Final = InfraError("its evidence is not at hand")


@dataclass(frozen=True, slots=True)
class AvailableEvidence:
    """What there is of a submission: evidence of its own commands, and the replies that its verdicts followed from."""

    evidence: Mapping[RunKey, Evidence] = field(default_factory=dict)
    replies: tuple[Reply, ...] = ()


class Missing(NamedTuple):
    """A command without a verdict, and the failure of ours that kept it from one."""

    subject: GradingItem
    reason: str


@dataclass(frozen=True, slots=True)
class Derived:
    """What follows for one submission on one suite: its verdicts, sorted as in a file, and who got none.

    `replies` are those that its verdicts follow from; `panel` is what asking about the rest would take, where that
    was to be told.
    """

    submission: str
    header: VerdictsHeader
    verdicts: tuple[PublishedVerdict, ...]
    missing: tuple[Missing, ...] = ()
    replies: tuple[Reply, ...] = ()
    panel: PanelPlan | None = None

    @property
    def file(self) -> VerdictFile:
        """The verdicts as they are published."""
        return VerdictFile(self.header, self.verdicts)


def subjects_of(suite: Suite, submission: Submission) -> list[GradingItem]:
    """What is judged of a submission, each command of a task once, best candidates first."""
    ordered = sorted(answers(suite, [submission]), key=lambda each: each.rank)
    return list(dict.fromkeys(each.subject for each in ordered))


class SubmissionRun:
    """One submission on one suite: what is judged of it, and the keys of that."""

    def __init__(self, context: SuiteContext, submission: Submission) -> None:
        self.context, self.submission = context, submission
        self.subjects = subjects_of(context.suite, submission)
        self._keys = context.new_keys()

    @cached_property
    def runs(self) -> frozenset[RunKey]:
        """The runs of its own commands, without those that belong to the references (as `Needed.of` has them)."""
        keys = {key for each in self.subjects for key in self._own_keys(each)}
        return frozenset((key, run) for key in keys for run in (0, 1)) - self.context.needed.references

    def key(self, subject: GradingItem) -> str:
        """The key that a verdict on it has today."""
        return self._keys.plan_item(subject).key

    def first_runs(self, subjects: Sequence[GradingItem]) -> set[RunKey]:
        """The first runs of these subjects' own commands, without those that belong to the references."""
        if self.context.judge.basis is EvidenceNeed.TEXT:
            return set()
        return {(key, 0) for each in subjects for key in self._own_keys(each)} - self.context.needed.references

    def _own_keys(self, subject: GradingItem) -> Sequence[str]:
        return self._keys.plan_item(subject).candidate_keys

    def derive(
        self,
        held: AvailableEvidence,
        panels: PanelPair | None = None,
        ask: Collection[GradingItem] | None = None,
        *,
        plans: bool = False,
    ) -> Derived:
        """What follows from the references' evidence and from what is held of this submission.

        `panels` decide what is left open of the subjects in `ask`, of all without it; of others the replies held do,
        so that a reply which was bought for somebody else changes nothing that is published. With `plans` it is told
        what asking would take. Raises InfraError where the panel's ledger takes no reply.
        """
        own = {run: each for run, each in held.evidence.items() if run in self.runs}
        preloaded = {**own, **self.context.references}
        asked = set(self.subjects if ask is None else ask)
        with tempfile.TemporaryDirectory() as folder, closing(Store(Path(folder) / "store.sqlite")) as store:
            grader = Grader(
                self.context.suite,
                self.context.judge,
                store,
                self.context.fingerprint,
                _nothing_is_executed,
                NullProgress(),
                rulings=self.context.rulings,
                known_mutants=self.context.known_mutants,
                preloaded=preloaded,
            )
            findings = grader.grade(self.subjects)
            votes: dict[GradingItem, _Vote] = {}
            if panels:
                votes |= self._votes(grader, findings, [each for each in self.subjects if each in asked], panels)
                with closing(_ledger_of(held.replies, Path(folder))) as reply_cache:
                    kept = PanelPair(Panel(panels.replay.settings, reply_cache, Budget(), NullProgress()))
                    votes |= self._votes(grader, findings, [each for each in self.subjects if each not in asked], kept)
            planned = [PanelItem(self.submission.slug, each) for each in self.subjects if each in asked]
            panel = plan_panel(panels.replay, grader, planned, self._own()) if panels and plans else None
        return self._derived(findings, votes, preloaded, panel)

    def _derived(
        self,
        findings: Mapping[GradingItem, Finding],
        votes: Mapping[GradingItem, _Vote],
        preloaded: Mapping[RunKey, Evidence],
        panel: PanelPlan | None,
    ) -> Derived:
        final = {**findings, **{subject: vote.finding for subject, vote in votes.items()}}
        failed = {subject: each.reason for subject, each in final.items() if each.outcome is Outcome.INFRA_ERROR}
        judged = (each for each in self.subjects if each not in failed)
        verdicts = [self._verdict(each, final[each], votes.get(each), preloaded) for each in judged]
        replies = {reply.key: reply for vote in votes.values() for reply in vote.replies}
        return Derived(
            self.submission.slug,
            self.context.header,
            tuple(sorted(verdicts, key=lambda each: (each.key, each.task))),
            tuple(Missing(subject, reason) for subject, reason in failed.items()),
            tuple(replies[key] for key in sorted(replies)),
            panel,
        )

    def _own(self) -> dict[str, Sequence[str]]:
        """The models that the submission names as its own, as the panel wants them."""
        return {self.submission.slug: self.submission.manifest.models}

    def _votes(
        self,
        grader: Grader,
        findings: Mapping[GradingItem, Finding],
        subjects: Sequence[GradingItem],
        panels: PanelPair,
    ) -> dict[GradingItem, _Vote]:
        """What the panel makes of the undecided among these, of those that there are replies about."""
        places, own = [PanelItem(self.submission.slug, each) for each in subjects], self._own()
        if panels.asking is not None:
            ask_panel(panels.asking, grader, places, findings, own)
        replies = replies_of(panels.replay, grader, places, findings, own)
        found = ask_panel(panels.replay, grader, replies, findings, own)
        voters = panels.replay.digest(self.context.judge.name, self.submission.manifest.models)
        return {each.subject: _Vote(found[each], replies[each], voters) for each in replies}

    def _verdict(
        self, subject: GradingItem, finding: Finding, vote: _Vote | None, preloaded: Mapping[RunKey, Evidence]
    ) -> PublishedVerdict:
        place = finding.place[:MAX_PLACE_BYTES] if finding.place else finding.place
        return PublishedVerdict(
            key=self.key(subject),
            task=subject.task,
            command=command_digest(subject.command or b""),
            finding=finding.model_copy(update={"place": place}),
            run=self._figures(subject, preloaded),
            panel=vote.voters if vote and finding.step is Step.PANEL else None,
        )

    def _figures(self, subject: GradingItem, preloaded: Mapping[RunKey, Evidence]) -> RunMetrics | None:
        """How a command ran, without the time that it took; None where the judge looks at the text alone."""
        if self.context.judge.basis is EvidenceNeed.TEXT:
            return None
        keys = self._own_keys(subject)
        figures = run_metrics_of([preloaded[key, 0] for key in keys]) if keys else NOTHING_RUN
        return figures.model_copy(update={"wall_ms": None})


class _Vote(NamedTuple):
    """What the panel says of one command, by which replies; `voters` is the digest of who voted and how."""

    finding: Finding
    replies: tuple[Reply, ...]
    voters: str


def _ledger_of(replies: Sequence[Reply], folder: Path) -> ReplyCache:
    """A ledger with these replies alone."""
    reply_cache = ReplyCache(folder / "panel.jsonl")
    for reply in replies:
        reply_cache.add(reply)
    return reply_cache


def _nothing_is_executed(requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
    """Our failure for every request: what has no evidence is not judged."""
    for request in requests:
        yield request, _ABSENT
