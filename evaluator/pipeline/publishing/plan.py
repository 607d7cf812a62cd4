"""Plan one run of the publish workflow: list the submissions to execute and to judge, and estimate the cost.

Publishing judges new commands. A verdict is stale if, for example, the judge changed. Stale verdicts stay until a
maintainer merges a rescore, so a maintainer always sees first how the board changes. There is one exception: if a
submission with a stale verdict file contains new commands, all of its commands are judged again, because a verdict file
has only one header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from evaluator.errors import BashboardError, Problem
from evaluator.pipeline.grading.grader import PanelPlan
from evaluator.pipeline.grading.llm_panel import PanelPair
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.derive import SubmissionRun
from evaluator.pipeline.publishing.evidence_sources import EvidenceSources
from evaluator.pipeline.publishing.status import PendingWork, inspect_submission
from evaluator.pipeline.publishing.suite_context import SuiteContext, current_fingerprint, load_suite_context
from evaluator.pipeline.submissions.board_suites import one_line, suites_on_board
from evaluator.pipeline.submissions.origins import require_history
from evaluator.pipeline.submissions.repository import Loaded, load_sound
from evaluator.progress import Progress
from evaluator.store import Store
from evaluator.submissions.validate import Submission
from evaluator.suites.fresh_variants import has_fresh

MOST_AT_ONCE: Final = 255
"""Submissions that one run executes. A matrix of GitHub Actions has at most 256 jobs."""


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """The work of one run of the publish workflow.

    If `stale` is set, the run is a rescore, which judges stale verdicts again. `due` is the work of this run, and
    `waiting` is stale work that waits for a rescore. `references` maps a suite to the number of its reference runs
    without evidence. `broken` maps each submission that cannot be scored to its errors, and `unavailable` maps each
    suite that is left out to the reason. `held` names the submissions that the final phase holds.
    """

    stale: bool
    due: tuple[PendingWork, ...]
    waiting: tuple[PendingWork, ...]
    whole: int
    unchecked: int
    references: dict[str, int]
    fingerprints: dict[str, str]
    broken: dict[str, tuple[Problem, ...]]
    unavailable: dict[str, str] = field(default_factory=dict)
    held: frozenset[str] = frozenset()

    @property
    def to_execute(self) -> list[str]:
        """Return the names of submissions that have commands without evidence, in sorted order."""
        return sorted({work.submission for work in self.due if work.executions})

    @property
    def judged(self) -> list[str]:
        """Return the submissions that this workflow run judges. Their references run in their fresh variants."""
        return sorted({work.submission for work in self.due} - set(self.left_over))

    @property
    def submissions(self) -> list[str]:
        """Return the submissions that this workflow run executes: at most `MOST_AT_ONCE`."""
        return self.to_execute[:MOST_AT_ONCE]

    @property
    def left_over(self) -> list[str]:
        """Return the submissions that this workflow run leaves for the next run to execute."""
        return self.to_execute[MOST_AT_ONCE:]

    @property
    def executions(self) -> int:
        """The minimum number of executions of submitted commands. Executions of references are not counted."""
        return sum(work.executions for work in self.due)

    @property
    def panel(self) -> PanelPlan | None:
        """The maximum cost of asking the LLM panel about commands with evidence, or None without a panel."""
        plans = [work.panel for work in self.due if work.panel]
        if not plans:
            return None
        prices = [plan.usd for plan in plans]
        usd = None if None in prices else sum(price for price in prices if price is not None)
        return PanelPlan(sum(plan.undecided for plan in plans), sum(plan.calls for plan in plans), usd)

    @property
    def anything(self) -> bool:
        """Return whether this run has any commands to judge or files to correct."""
        return bool(self.due)

    def as_json(self) -> dict[str, Any]:
        """Return the plan of the publish run as JSON values."""
        return {
            "rescore": self.stale,
            "anything": self.anything,
            "submissions": self.submissions,
            "judged": self.judged,
            "left_over": self.left_over,
            "executions": self.executions,
            "references": self.references,
            "fingerprints": self.fingerprints,
            "panel": self.panel._asdict() if self.panel else None,
            "due": [work.as_json() for work in self.due],
            "waiting": [work.as_json() for work in self.waiting],
            "whole": self.whole,
            "unchecked": self.unchecked,
            "unavailable": self.unavailable,
            "broken": {slug: list(map(str, problems)) for slug, problems in self.broken.items()},
            "held": sorted(self.held),
        }


def plan_publishing(
    project: Project,
    progress: Progress,
    store: Store,
    *,
    stale: bool = False,
    slugs: Sequence[str] = (),
    panels: PanelPair | None = None,
) -> PublishPlan:
    """Plan a run of the publish workflow. If `stale` is set, plan a rescore, which judges stale verdicts again.

    `slugs` limits the plan to these submissions. No command is executed and no panel request is made. Raises
    MissingError if the environment of no suite is known.
    """
    loaded, sources = load_sound(project, slugs), EvidenceSources.of(project)
    contexts, unavailable = load_suite_contexts(project, store, loaded, ask_engine=True)
    pairs = answered_suites(contexts, loaded)
    works = []
    progress.stage("looking at what is published", len(pairs))
    for context, submission in pairs:
        status = inspect_submission(project, SubmissionRun(context, submission), sources, panels, stale=stale)
        works.append(status.work)
        progress.advance()
    return PublishPlan(
        stale=stale,
        due=tuple(work for work in works if (work.is_stale if stale else work.is_new)),
        waiting=tuple(work for work in works if not stale and work.is_stale and not work.is_new),
        whole=sum(not work.is_new and not work.is_stale for work in works),
        unchecked=sum(work.unchecked for work in works),
        references={
            context.suite.manifest.name: context.missing_references
            for context in contexts
            if context.missing_references
        },
        fingerprints={context.suite.manifest.name: context.fingerprint for context in contexts},
        broken=dict(loaded.broken),
        unavailable=dict(unavailable),
        held=loaded.held,
    )


class SuiteContexts(NamedTuple):
    """The contexts (the inputs that verdicts share) of suites. `unavailable` maps each other suite to the reason."""

    contexts: list[SuiteContext]
    unavailable: Mapping[str, str]


def load_suite_contexts(project: Project, store: Store, loaded: Loaded, *, ask_engine: bool = False) -> SuiteContexts:
    """Return the context of each suite on the board. A suite in trouble is left out.

    Raises the first suite's error if no suite is left, and MissingError for fresh variants in a shallow clone.
    """
    on_board = suites_on_board(project, loaded.submissions)
    if any(has_fresh(suite) for suite in on_board.suites):
        require_history(project)
    contexts, errors = [], dict[str, BashboardError]()
    for suite in on_board.suites:
        try:
            fingerprint = current_fingerprint(project, suite, store, ask_engine=ask_engine)
            contexts.append(load_suite_context(project, suite, fingerprint, store))
        except BashboardError as error:
            errors[suite.manifest.name] = error
    errors |= on_board.errors
    if errors and not contexts:
        raise next(iter(errors.values()))
    return SuiteContexts(contexts, {name: one_line(error) for name, error in errors.items()})


def answered_suites(contexts: Sequence[SuiteContext], loaded: Loaded) -> list[tuple[SuiteContext, Submission]]:
    """Return pairs of a suite's context and a submission, for every submission that answers the suite."""
    return [
        (context, submission)
        for context in contexts
        for submission in loaded.submissions
        if context.suite.manifest.name in submission.manifest.suites
    ]
