"""Derive a submission's verdicts from existing evidence. No command is executed, and no other submission is involved.

A hostile command could escape from its sandbox and forge the evidence of its own job. So a submission is judged from
the references' evidence and its own only, in a temporary store that no other submission uses. A forgery can change the
row of its own submission and no other. Equal evidence and replies give equal verdicts, byte for byte, so anyone can
derive a published file again (see `verify`).
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
from evaluator.pipeline.grading.cache_keys import GradingItem, is_executable
from evaluator.pipeline.grading.grader import Grader, PanelPlan
from evaluator.pipeline.grading.llm_panel import PanelItem, PanelPair, ask_panel, plan_panel, replies_of
from evaluator.pipeline.grading.results import answers
from evaluator.pipeline.grading.run_metrics import NOTHING_RUN, figures_of
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
"""Published bytes of a finding's place. Paths are never longer, but names of variables can be."""

_ABSENT: Final = InfraError("its evidence is not at hand")


@dataclass(frozen=True, slots=True)
class AvailableEvidence:
    """The evidence of a submission's own commands, and the panel replies that its verdicts depend on."""

    evidence: Mapping[RunKey, Evidence] = field(default_factory=dict)
    replies: tuple[Reply, ...] = ()


class Missing(NamedTuple):
    """A command without a verdict, and the infrastructure failure that is the reason."""

    subject: GradingItem
    reason: str


@dataclass(frozen=True, slots=True)
class Derived:
    """The verdicts of one submission on one suite, sorted as in a file, and the commands without a verdict.

    The verdicts depend on `replies`. `panel` is the cost of panel requests about the undecided commands, if it was
    asked for.
    """

    submission: str
    header: VerdictsHeader
    verdicts: tuple[PublishedVerdict, ...]
    missing: tuple[Missing, ...] = ()
    replies: tuple[Reply, ...] = ()
    panel: PanelPlan | None = None

    @property
    def file(self) -> VerdictFile:
        """Return the verdicts as the published file."""
        return VerdictFile(self.header, self.verdicts)


def subjects_of(suite: Suite, submission: Submission) -> list[GradingItem]:
    """Return the items to judge of a submission. Each command of a task occurs once, the best rank first."""
    ordered = sorted(answers(suite, [submission]), key=lambda each: each.rank)
    return list(dict.fromkeys(each.subject for each in ordered))


class SubmissionRun:
    """One submission on one suite: the items to judge, and their cache keys."""

    def __init__(self, context: SuiteContext, submission: Submission) -> None:
        self.context, self.submission = context, submission
        self.subjects = subjects_of(context.suite, submission)
        self._keys = context.new_keys()

    @cached_property
    def runs(self) -> frozenset[RunKey]:
        """Return the runs of the submission's own commands, without runs of references (see `RequiredRuns.of`)."""
        keys = {key for each in self.subjects for key in self._own_keys(each)}
        return frozenset((key, run) for key in keys for run in (0, 1)) - self.context.needed.references

    def key(self, subject: GradingItem) -> str:
        """Return today's verdict key of an item."""
        return self._keys.key(subject)

    def first_runs(self, subjects: Sequence[GradingItem]) -> set[RunKey]:
        """Return the first runs of these items' commands. Runs of references are excluded."""
        if self.context.judge.basis is EvidenceNeed.TEXT:
            return set()
        return {(key, 0) for each in subjects for key in self._own_keys(each)} - self.context.needed.references

    def _own_keys(self, subject: GradingItem) -> list[str]:
        if subject.command is None or not is_executable(subject.command):
            return []
        return [key for key, _ in self._keys.requests(subject.task, subject.command).values()]

    def derive(
        self,
        held: AvailableEvidence,
        panels: PanelPair | None = None,
        ask: Collection[GradingItem] | None = None,
        *,
        plans: bool = False,
    ) -> Derived:
        """Return the verdicts that follow from the references' evidence and this submission's available evidence.

        `panels` decides the undecided items in `ask`, or all undecided items if `ask` is None. The other items are
        decided only by the replies in `held`. So a reply that was bought for another submission changes no published
        verdict. With `plans`, the result includes the cost of panel requests. Raises InfraError if the reply cache
        cannot be written.
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
        """Return the models that the submission declares as its own, in the form that the panel expects."""
        return {self.submission.slug: self.submission.manifest.models}

    def _votes(
        self,
        grader: Grader,
        findings: Mapping[GradingItem, Finding],
        subjects: Sequence[GradingItem],
        panels: PanelPair,
    ) -> dict[GradingItem, _Vote]:
        """Return the panel's decision about each undecided item that has replies."""
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
        """Return the run metrics of an item without its duration, or None if the judge reads only the text."""
        if self.context.judge.basis is EvidenceNeed.TEXT:
            return None
        keys = self._own_keys(subject)
        figures = figures_of([preloaded[key, 0] for key in keys]) if keys else NOTHING_RUN
        return figures.model_copy(update={"wall_ms": None})


class _Vote(NamedTuple):
    """The panel's decision about one command, and its replies. `voters` is the digest of the panel's settings."""

    finding: Finding
    replies: tuple[Reply, ...]
    voters: str


def _ledger_of(replies: Sequence[Reply], folder: Path) -> ReplyCache:
    """Return a reply cache that holds these replies only."""
    reply_cache = ReplyCache(folder / "panel.jsonl")
    for reply in replies:
        reply_cache.add(reply)
    return reply_cache


def _nothing_is_executed(requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
    """Yield an infrastructure failure for every request: a command without evidence is not judged."""
    for request in requests:
        yield request, _ABSENT
