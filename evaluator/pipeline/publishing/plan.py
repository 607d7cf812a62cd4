"""The plan of one run of the publish workflow: the submissions to execute and judge, and the cost.

Publishing judges new commands. Stale verdicts stay until a maintainer merges a rescore, so the board never changes
without a table of the moved rows. There is one exception: if a submission with a stale file contains new commands, all
of it is judged again, because a file has only one header.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evaluator.errors import Problem
from evaluator.pipeline.grading.grader import PanelPlan
from evaluator.pipeline.grading.llm_panel import PanelPair
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.derive import SubmissionRun
from evaluator.pipeline.publishing.evidence_sources import EvidenceSources
from evaluator.pipeline.publishing.status import PendingWork, inspect_submission
from evaluator.pipeline.publishing.suite_context import SuiteContext, environment_of, load_suite_context
from evaluator.pipeline.submissions.repository import Loaded, load_sound, suites_on_board
from evaluator.progress import Progress
from evaluator.store import Store

MOST_AT_ONCE: Final = 255
"""Submissions that one run executes. A matrix of GitHub Actions has at most 256 jobs."""


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """The work of one publish run, or with `stale` of a rescore. `waiting` is stale work that waits for a rescore.

    `references` counts, by suite, the reference runs without evidence. `broken` lists the submissions that break their
    format and cannot be scored.
    """

    stale: bool
    due: tuple[PendingWork, ...]
    waiting: tuple[PendingWork, ...]
    whole: int
    unchecked: int
    references: dict[str, int]
    fingerprints: dict[str, str]
    broken: dict[str, tuple[Problem, ...]]

    @property
    def to_execute(self) -> list[str]:
        """Return the submissions that have commands without evidence, sorted."""
        return sorted({each.submission for each in self.due if each.executions})

    @property
    def submissions(self) -> list[str]:
        """Return the submissions that this run executes."""
        return self.to_execute[:MOST_AT_ONCE]

    @property
    def left_over(self) -> list[str]:
        """Return the submissions that the next run executes."""
        return self.to_execute[MOST_AT_ONCE:]

    @property
    def executions(self) -> int:
        """Return the minimum number of executions, without those of references."""
        return sum(each.executions for each in self.due)

    @property
    def panel(self) -> PanelPlan | None:
        """Return the maximum cost of panel requests about commands that have evidence, or None if there are none."""
        plans = [each.panel for each in self.due if each.panel]
        if not plans:
            return None
        prices = [each.usd for each in plans]
        usd = None if None in prices else sum(each for each in prices if each is not None)
        return PanelPlan(sum(each.undecided for each in plans), sum(each.calls for each in plans), usd)

    @property
    def anything(self) -> bool:
        """Return whether there is any work."""
        return bool(self.due)

    def as_json(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return {
            "rescore": self.stale,
            "anything": self.anything,
            "submissions": self.submissions,
            "left_over": self.left_over,
            "executions": self.executions,
            "references": self.references,
            "fingerprints": self.fingerprints,
            "panel": self.panel._asdict() if self.panel else None,
            "due": [each.as_json() for each in self.due],
            "waiting": [each.as_json() for each in self.waiting],
            "whole": self.whole,
            "unchecked": self.unchecked,
            "broken": {slug: [str(each) for each in problems] for slug, problems in self.broken.items()},
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
    """Return the plan of a publish run, or with `stale` of a rescore, for all submissions or those in `slugs`.

    No command is executed and no panel request is made. Raises MissingError if the environment of a suite is not known.
    """
    loaded, sources = load_sound(project, slugs), EvidenceSources.of(project)
    contexts = load_suite_contexts(project, store, loaded, ask_engine=True)
    works = []
    submission_runs = list(dossiers_of(contexts, loaded))
    progress.stage("looking at what is published", len(submission_runs))
    for context, number in submission_runs:
        works.append(
            inspect_submission(
                project, SubmissionRun(context, loaded.submissions[number]), sources, panels, stale=stale
            ).work
        )
        progress.advance()
    return PublishPlan(
        stale=stale,
        due=tuple(each for each in works if (each.is_stale if stale else each.is_new)),
        waiting=tuple(each for each in works if not stale and each.is_stale and not each.is_new),
        whole=sum(not each.is_new and not each.is_stale for each in works),
        unchecked=sum(each.unchecked for each in works),
        references={each.suite.manifest.name: each.missing_references for each in contexts if each.missing_references},
        fingerprints={each.suite.manifest.name: each.fingerprint for each in contexts},
        broken=dict(loaded.broken),
    )


def load_suite_contexts(
    project: Project, store: Store, loaded: Loaded, *, ask_engine: bool = False
) -> list[SuiteContext]:
    """Return the context of every suite on the board except foreign ones. Their publishers publish those verdicts."""
    suites = [each for each in suites_on_board(project, loaded.submissions) if not each.manifest.foreign]
    return [
        load_suite_context(project, each, environment_of(project, each, store, ask_engine=ask_engine), store)
        for each in suites
    ]


def dossiers_of(contexts: Sequence[SuiteContext], loaded: Loaded) -> Iterator[tuple[SuiteContext, int]]:
    """Yield each suite context with the index of each submission that answers its suite."""
    for context in contexts:
        for number, each in enumerate(loaded.submissions):
            if context.suite.manifest.name in each.manifest.suites:
                yield context, number
