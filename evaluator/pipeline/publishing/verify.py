"""Published verdicts checked: derived again from the published evidence and replies, and compared line by line.

Each file is derived in the environment that its own header names, by today's judge, rulings and marks: from the bundles
that `bashboard fetch` brought, and of commands that have none there from this machine's own evidence, if it has any.
What was judged by another judge than today's, or has no evidence at hand, cannot be told, and is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaluator.errors import FormatError, Problem
from evaluator.pipeline.grading.llm_panel import PanelPair
from evaluator.pipeline.grading.verdict_files import VerdictFile, read_verdicts, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.derive import AvailableEvidence, SubmissionRun
from evaluator.pipeline.publishing.evidence_sources import EvidenceSources
from evaluator.pipeline.publishing.status import Published, edited_lines, place_of, published_of
from evaluator.pipeline.publishing.suite_context import SuiteContext, load_suite_context
from evaluator.pipeline.submissions.repository import load_sound, suites_on_board
from evaluator.progress import Progress
from evaluator.store import Store
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite


@dataclass(frozen=True, slots=True)
class Verified:
    """One verdict file: `held` lines follow from their evidence, `problems` are those that do not.

    `awaiting` counts commands without a line and lines that a ruling, a mark or a change of the task has overtaken,
    `unknown` lines whose evidence is not at hand; `why` says what kept the whole file from being checked.
    """

    submission: str
    suite: str
    held: int = 0
    problems: tuple[Problem, ...] = ()
    awaiting: int = 0
    unknown: int = 0
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "submission": self.submission,
            "suite": self.suite,
            "held": self.held,
            "problems": list(map(str, self.problems)),
            "awaiting": self.awaiting,
            "unknown": self.unknown,
            "why": self.why,
        }


def verify_published(
    project: Project, progress: Progress, store: Store, *, slugs: Sequence[str] = (), panels: PanelPair | None = None
) -> list[Verified]:
    """Every published verdict file, or those of the submissions named, checked. Nothing is executed, nobody asked."""
    loaded, sources = load_sound(project, slugs), EvidenceSources.of(project)
    found: list[Verified] = []
    progress.stage("deriving again", len(loaded.submissions))
    suites = [each for each in suites_on_board(project, loaded.submissions) if not each.manifest.foreign]
    contexts: dict[tuple[str, str], SuiteContext] = {}
    for submission in loaded.submissions:
        answered = [each for each in suites if each.manifest.name in submission.manifest.suites]
        found += [_verify(project, store, contexts, each, submission, sources, panels) for each in answered]
        progress.advance()
    return found


def _verify(
    project: Project,
    store: Store,
    contexts: dict[tuple[str, str], SuiteContext],
    suite: Suite,
    submission: Submission,
    sources: EvidenceSources,
    panels: PanelPair | None,
) -> Verified:
    slug, name = submission.slug, suite.manifest.name
    try:
        file = read_verdicts(verdicts_path(project, slug, name))
    except FormatError as error:
        return Verified(slug, name, problems=error.problems)
    if file is None:
        return Verified(slug, name, why="nothing is published of it yet")
    place = (name, file.header.fingerprint)
    if place not in contexts:
        contexts[place] = load_suite_context(project, suite, file.header.fingerprint, store)
    submission_run = SubmissionRun(contexts[place], submission)
    published = published_of(project, submission_run)
    if published.fault or published.causes:
        faults = (Problem(published.path, 1, published.fault),) if published.fault else ()
        return Verified(slug, name, problems=faults, unknown=len(file.verdicts), why="; ".join(published.causes))
    return _checked(submission_run, published, file, _evidence(submission_run, sources, store), panels)


def _evidence(submission_run: SubmissionRun, sources: EvidenceSources, store: Store) -> AvailableEvidence:
    """What is published of a submission's evidence, and what this machine has of the rest."""
    held = sources.hold(submission_run)
    absent = submission_run.runs - held.evidence.keys()
    return replace(held, evidence={**store.evidence(absent), **held.evidence})


def _checked(
    submission_run: SubmissionRun,
    published: Published,
    file: VerdictFile,
    held: AvailableEvidence,
    panels: PanelPair | None,
) -> Verified:
    derived = submission_run.derive(held, panels.unasked if panels else None, ())
    today = (
        panels.replay.digest(submission_run.context.judge.name, submission_run.submission.manifest.models)
        if panels
        else None
    )
    overtaken = {place_of(each) for each in published.changed}
    foreign = {(each.task, each.command) for each in file.verdicts if each.panel not in (None, today)}
    known = {(each.task, each.command) for each in derived.verdicts} - overtaken - foreign
    lines = file.by_command.keys() & {place_of(each) for each in submission_run.subjects}
    told = known & lines
    problems = [each for each in edited_lines(published, derived) if _place_at(file, each.line) in told]
    return Verified(
        submission_run.submission.slug,
        submission_run.context.suite.manifest.name,
        held=len(told) - len(problems),
        problems=tuple(problems),
        awaiting=len(published.new) + len(overtaken),
        unknown=len(lines - told - overtaken),
        why="some was decided by another panel than today's" if foreign else "",
    )


def _place_at(file: VerdictFile, line: int) -> tuple[str, str]:
    verdict = file.verdicts[line - 2]
    return verdict.task, verdict.command
