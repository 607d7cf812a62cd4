"""Verify published verdicts: derive them again from the published evidence and panel replies, and compare every line.

Each verdict file is derived for the environment that its header names, with today's judge, rulings and mutants. The
evidence comes from the bundles of `bashboard fetch`. Missing evidence is taken from this machine's own store. A line
cannot be verified if another judge decided it or its evidence is not available. `VerifiedFile` counts such lines as
unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaluator.errors import FormatError, Problem
from evaluator.pipeline.grading.llm_panel import PanelPair
from evaluator.pipeline.grading.verdict_files import VerdictFile, read_verdicts, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.derive import DerivedVerdicts, SubmissionRun
from evaluator.pipeline.publishing.evidence_sources import EvidenceSources
from evaluator.pipeline.publishing.status import PublishedFile, edited_lines, is_not_run, line_key, read_published_file
from evaluator.pipeline.publishing.suite_context import SuiteContext, load_suite_context
from evaluator.pipeline.submissions.board_suites import suites_on_board
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.progress import Progress
from evaluator.store import Store
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite


@dataclass(frozen=True, slots=True)
class VerifiedFile:
    """The result of verifying one verdict file.

    `held` counts the verified lines, and `problems` lists the lines that differ from the evidence or contradict other
    lines of the file. `awaiting` counts commands without a line, and lines that are outdated because a ruling, a known
    mutant, the task or an earlier candidate's verdict changed. `unknown` counts lines that cannot be verified. `why` is
    the reason for an incomplete check.
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
) -> list[VerifiedFile]:
    """Verify every verdict file, or only the files of `slugs`. Execute no command and make no panel request."""
    loaded, sources = load_sound(project, slugs), EvidenceSources.of(project)
    files: list[VerifiedFile] = []
    progress.stage("deriving again", len(loaded.submissions))
    on_board = suites_on_board(project, loaded.submissions)
    suites, unavailable = on_board.suites, on_board.unavailable
    contexts: dict[tuple[str, str], SuiteContext] = {}
    for submission in loaded.submissions:
        answered = [suite for suite in suites if suite.manifest.name in submission.manifest.suites]
        files += [_verify(project, store, contexts, suite, submission, sources, panels) for suite in answered]
        left_out = sorted(unavailable.keys() & submission.manifest.suites.keys())
        files += [VerifiedFile(submission.slug, name, why=f"not verified: {unavailable[name]}") for name in left_out]
        progress.advance()
    return files


def _verify(
    project: Project,
    store: Store,
    contexts: dict[tuple[str, str], SuiteContext],
    suite: Suite,
    submission: Submission,
    sources: EvidenceSources,
    panels: PanelPair | None,
) -> VerifiedFile:
    """Verify the verdict file of a submission and a suite. `contexts` caches the inputs that verdicts share."""
    slug, name = submission.slug, suite.manifest.name
    try:
        file = read_verdicts(verdicts_path(project, slug, name))
    except FormatError as error:
        return VerifiedFile(slug, name, problems=error.problems)
    if file is None:
        return VerifiedFile(slug, name, why="nothing is published yet")
    environment = (name, file.header.fingerprint)
    if environment not in contexts:
        contexts[environment] = load_suite_context(project, suite, file.header.fingerprint, store)
    submission_run = SubmissionRun(contexts[environment], submission)
    published = read_published_file(project, submission_run)
    if published.fault or published.causes:
        faults = (Problem(published.path, 1, published.fault),) if published.fault else published.misplaced
        return VerifiedFile(slug, name, problems=faults, unknown=len(file.verdicts), why="; ".join(published.causes))
    available = sources.load(submission_run)
    local = store.evidence(submission_run.runs - available.evidence.keys())
    available = replace(available, evidence={**local, **available.evidence})
    derived = submission_run.derive(available, panels.unasked if panels else None, ())
    return _compare(submission_run, published, file, derived, panels)


def _compare(
    submission_run: SubmissionRun,
    published: PublishedFile,
    file: VerdictFile,
    derived: DerivedVerdicts,
    panels: PanelPair | None,
) -> VerifiedFile:
    """Compare a verdict file with derived verdicts. Skip lines with an outdated key and lines of another LLM panel."""
    models, judge = submission_run.submission.manifest.models, submission_run.context.judge.name
    today = panels.replay.digest(judge, models) if panels else None
    other_panel = {(line.task, line.command) for line in file.verdicts if line.panel not in (None, today)}
    lines = {key: line for item in submission_run.items if (line := file.by_command.get(key := line_key(item)))}
    verdicts = {(verdict.task, verdict.command): verdict for verdict in derived.verdicts}
    both = verdicts.keys() & lines.keys()
    moved = {key for key in both if is_not_run(verdicts[key]) != is_not_run(lines[key])}
    changed = {line_key(item) for item in (*published.changed, *published.missing)}
    changed |= {key for key in moved if key[0] not in {task for task, _ in other_panel}}
    compared = {file.line_of(*key) for key in both - changed - other_panel - moved}
    problems = {problem.line: problem for problem in edited_lines(published, derived) if problem.line in compared}
    problems |= {problem.line: problem for problem in published.misplaced}
    awaiting = {file.line_of(*key) for key in changed} - problems.keys()
    return VerifiedFile(
        submission_run.submission.slug,
        submission_run.context.suite.manifest.name,
        held=len(compared - problems.keys()),
        problems=tuple(problems[number] for number in sorted(problems)),
        awaiting=len(published.new) + len(awaiting),
        unknown=len(lines) - len(compared | awaiting | problems.keys()),
        why="another panel than today's decided some verdicts" if other_panel else "",
    )
