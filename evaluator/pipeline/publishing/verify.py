"""Verify published verdicts: derive them again from the published evidence and replies, and compare every line.

Each file is derived in the environment that its header names, with today's judge, rulings and known mutants. The
evidence comes from the bundles of `bashboard fetch`, and if it is not there, from this machine's own store. Lines that
another judge decided, or that have no available evidence, cannot be verified. They are counted as unknown.
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
    """The result for one verdict file: the number of verified lines (`held`), and the `problems` of other lines.

    `awaiting` counts commands without a line, and lines that are outdated because a ruling, a known mutant or the task
    changed. `unknown` counts lines without available evidence. `why` says why the file was not checked completely.
    """

    submission: str
    suite: str
    held: int = 0
    problems: tuple[Problem, ...] = ()
    awaiting: int = 0
    unknown: int = 0
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
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
    """Verify every verdict file, or those of the submissions in `slugs`, without executions and panel requests."""
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
    """Return a submission's published evidence. This machine's store provides the runs that are not published."""
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
