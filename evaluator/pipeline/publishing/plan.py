"""What a run of the publish workflow has to do, and what that takes.

Publishing gives verdicts to what is new. What is stale stands until a rescore is merged, so that no number on the board
moves without a table of who moved. Only where a submission itself changed while its file is stale, all of it is judged
anew, as a file has one header.
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
"""Submissions that one run executes: a matrix of GitHub's has at most 256 jobs."""


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """What a run has to do: with `stale` what a rescore has. `waiting` is stale work that publishing leaves.

    `references` are runs of references without evidence, by suite; `broken` the submissions that cannot be scored.
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
        """The submissions whose commands lack evidence, sorted."""
        return sorted({each.submission for each in self.due if each.executions})

    @property
    def submissions(self) -> list[str]:
        """Those of them that one run executes."""
        return self.to_execute[:MOST_AT_ONCE]

    @property
    def left_over(self) -> list[str]:
        """Those that the next run executes."""
        return self.to_execute[MOST_AT_ONCE:]

    @property
    def executions(self) -> int:
        """How many executions it takes at least, those of references left out."""
        return sum(each.executions for each in self.due)

    @property
    def panel(self) -> PanelPlan | None:
        """What asking the panel about what is at hand takes at most, None where there is none."""
        plans = [each.panel for each in self.due if each.panel]
        if not plans:
            return None
        prices = [each.usd for each in plans]
        usd = None if None in prices else sum(each for each in prices if each is not None)
        return PanelPlan(sum(each.undecided for each in plans), sum(each.calls for each in plans), usd)

    @property
    def anything(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.due)

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
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
    """What publishing, or with `stale` a rescore, has to do; all submissions where none is named.

    Nothing is executed and nobody asked. Raises MissingError where the environment is not known.
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
    """The ground of every suite whose verdicts are published: ours, as others' stay with their publishers."""
    suites = [each for each in suites_on_board(project, loaded.submissions) if not each.manifest.foreign]
    return [
        load_suite_context(project, each, environment_of(project, each, store, ask_engine=ask_engine), store)
        for each in suites
    ]


def dossiers_of(contexts: Sequence[SuiteContext], loaded: Loaded) -> Iterator[tuple[SuiteContext, int]]:
    """Every ground with the number of every submission that answers its suite."""
    for context in contexts:
        for number, each in enumerate(loaded.submissions):
            if context.suite.manifest.name in each.manifest.suites:
                yield context, number
