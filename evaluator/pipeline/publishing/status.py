"""The status of a submission's published verdicts on one suite: missing, outdated or edited lines, and the work to do.

A command is *new* if it has no line. It is *changed* if the file's header is today's and the line has another cache
key: a ruling, a known mutant or the task changed. A file is *stale* if its header names another judge, environment or
suite version than today's.

A line that was edited by hand keeps its cache key. So a file that differs from the one that was derived from the
published evidence is derived again, and every line that differs is reported.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evaluator.errors import FormatError, Problem
from evaluator.escaping import printable
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.grader import PanelPlan
from evaluator.pipeline.grading.llm_panel import PanelPair
from evaluator.pipeline.grading.verdict_files import VerdictFile, read_verdicts, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.derive import AvailableEvidence, Derived, SubmissionRun
from evaluator.pipeline.publishing.evidence_sources import EvidenceSources
from evaluator.records import Finding, Outcome, PublishedVerdict, VerdictsHeader, command_digest

_SHOWN: Final = 160


@dataclass(frozen=True, slots=True)
class Published:
    """A submission's verdict file on a suite, compared with today's cache keys.

    `new` lists the commands without a line. `changed` lists the commands that have another key than today, if the
    header is today's. `gone` counts the lines of commands that the submission no longer contains. `causes` describes
    what in the header is not today's. `sha256` is the file's digest, or None without a file. `fault` says why the file
    is invalid.
    """

    path: Path
    sha256: str | None
    file: VerdictFile | None
    new: tuple[GradingItem, ...]
    changed: tuple[GradingItem, ...] = ()
    gone: int = 0
    causes: tuple[str, ...] = ()
    fault: str = ""

    @property
    def is_whole(self) -> bool:
        """Return whether every command has a line under today's key, and there is no other line."""
        return not (self.new or self.changed or self.gone or self.causes or self.fault)


def published_of(project: Project, submission_run: SubmissionRun) -> Published:
    """Compare a submission's verdict file with today's cache keys. No evidence is read."""
    context, slug = submission_run.context, submission_run.submission.slug
    path = verdicts_path(project, slug, context.suite.manifest.name)
    try:
        file = read_verdicts(path)
        if file is None:
            return Published(path, None, None, tuple(submission_run.subjects))
        if file.header.suite != context.header.suite:
            raise FormatError([Problem(path, 1, f"suite: expected {context.header.suite!r}, as the file is named")])
    except FormatError as error:
        return Published(path, None, None, tuple(submission_run.subjects), fault=str(error.problems[0]))
    lines = {place_of(each): file.by_command.get(place_of(each)) for each in submission_run.subjects}
    causes = tuple(causes_of(file.header, context.header))
    new = tuple(each for each in submission_run.subjects if lines[place_of(each)] is None)
    changed = tuple(
        each
        for each in submission_run.subjects
        if not causes and _is_changed(submission_run, each, lines[place_of(each)])
    )
    gone = len(file.by_command.keys() - lines.keys())
    return Published(path, hashlib.sha256(path.read_bytes()).hexdigest(), file, new, changed, gone, causes)


def place_of(subject: GradingItem) -> tuple[str, str]:
    """Return the task and the command digest that identify a line of a verdict file."""
    return subject.task, command_digest(subject.command or b"")


def _is_changed(submission_run: SubmissionRun, subject: GradingItem, line: PublishedVerdict | None) -> bool:
    return line is not None and line.key != submission_run.key(subject)


def causes_of(published: VerdictsHeader, today: VerdictsHeader) -> Iterator[str]:
    """Yield a description of every part of a file's header that is not today's."""
    if (published.judge, published.judge_version) != (today.judge, today.judge_version):
        yield f"judge: {_judge(published)}, today {_judge(today)}"
    if published.suite_version != today.suite_version:
        yield f"suite: version {published.suite_version}, today {today.suite_version}"
    if published.fingerprint != today.fingerprint:
        yield f"environment: {published.fingerprint[:12]}, today {today.fingerprint[:12]}"


def _judge(header: VerdictsHeader) -> str:
    return printable(f"{header.judge} {header.judge_version}")[:_SHOWN]


def edited_lines(published: Published, derived: Derived) -> list[Problem]:
    """Return the lines that have the right key but differ from the verdict that follows from the evidence.

    A line without available evidence cannot be compared, so it is not reported.
    """
    if published.file is None:
        return []
    return [
        Problem(published.path, published.file.line_of(each.task, each.command), _said(line, each))
        for each in derived.verdicts
        if (line := published.file.by_command.get((each.task, each.command))) and line.key == each.key and line != each
    ]


def _said(line: PublishedVerdict, derived: PublishedVerdict) -> str:
    if line.finding != derived.finding:
        said, follows = words(line.finding), words(derived.finding)
        if said == follows:
            said, follows = _fields(line.finding), _fields(derived.finding)
        return f"says of a command of {line.task} {said}; what follows from its evidence is {follows}"
    fields = [name for name in ("run", "panel") if getattr(line, name) != getattr(derived, name)]
    return f"{' and '.join(fields)}: not what follows from the evidence of a command of {line.task}"


def words(finding: Finding) -> str:
    """Return a finding in a few words that are safe to print on a terminal."""
    step = f" ({finding.step.value})" if finding.step else ""
    reason = f": {finding.reason}" if finding.reason else ""
    return printable(f"{finding.outcome.value}{step}{reason}"[:_SHOWN])


def _fields(finding: Finding) -> str:
    return printable(finding.to_json()[: 2 * _SHOWN])


@dataclass(frozen=True, slots=True)
class PendingWork:
    """The work that is pending on one submission's verdicts on a suite.

    `new` and `changed` name a task once for each command. `executions` is the minimum number of executions. `panel` is
    the maximum cost of panel requests about commands that have evidence. `unchecked` is true if evidence was missing,
    so that the file could not be compared with it.
    """

    submission: str
    suite: str
    asked: int
    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: int = 0
    edited: tuple[Problem, ...] = ()
    causes: tuple[str, ...] = ()
    fault: str = ""
    executions: int = 0
    panel: PanelPlan | None = None
    unchecked: bool = False

    @property
    def is_stale(self) -> bool:
        """Return whether the judge, environment, suite version or panel of the file is not today's."""
        return bool(self.causes)

    @property
    def is_new(self) -> bool:
        """Return whether publishing has work to do. Lines that are gone from a stale file wait for the rescore."""
        gone = self.gone and not self.causes
        return bool(self.new or self.changed or self.edited or self.fault or gone)

    @property
    def words(self) -> list[str]:
        """Return the reasons for the work, in words."""
        counted = {
            "new": self.new,
            "changed by a ruling, a mark or the task": self.changed,
            "edited by hand": self.edited,
        }
        told = [f"{len(each)} {name}" for name, each in counted.items() if each]
        told += [f"{self.gone} not given any more"] if self.gone else []
        told += [f"the file does not read: {self.fault}"] if self.fault else []
        return told + list(self.causes)

    def as_json(self) -> dict[str, Any]:
        """Return the work as JSON values."""
        return {
            "submission": self.submission,
            "suite": self.suite,
            "asked": self.asked,
            "new": list(self.new),
            "changed": list(self.changed),
            "gone": self.gone,
            "edited": [{"line": each.line, "message": each.message} for each in self.edited],
            "stale": list(self.causes),
            "fault": self.fault,
            "executions": self.executions,
            "panel": self.panel._asdict() if self.panel else None,
            "unchecked": self.unchecked,
        }


@dataclass(frozen=True, slots=True)
class VerdictStatus:
    """The result of an inspection: the published file and the work to do.

    `asked` lists the commands to judge. `held` is the available evidence, and `derived` holds the verdicts that follow
    from it without new panel requests. Both are None if they were not needed or not available.
    """

    published: Published
    held: AvailableEvidence | None
    asked: tuple[GradingItem, ...]
    work: PendingWork
    derived: Derived | None = None


def inspect_submission(
    project: Project,
    submission_run: SubmissionRun,
    sources: EvidenceSources,
    panels: PanelPair | None = None,
    *,
    stale: bool = False,
) -> VerdictStatus:
    """Return the status of a submission's verdicts for publishing, or with `stale` for a rescore.

    Evidence is read only if there is work to do or the file was modified.
    """
    published = published_of(project, submission_run)
    causes = (*published.causes, *_panel_causes(published, submission_run, panels))
    asked = _asked(published, submission_run, causes, stale=stale)
    is_open = stale and panels is not None and not causes and _has_undecided(published)
    checked = not stale and not causes
    if not asked and not is_open and not (checked and _is_to_be_checked(published, submission_run, sources)):
        return VerdictStatus(published, None, (), _work(submission_run, published, causes))
    held = sources.hold(submission_run)
    absent = submission_run.first_runs(asked) - held.evidence.keys()
    if absent or submission_run.context.missing_references:
        work = _work(submission_run, published, causes, executions=len(absent), unchecked=not asked)
        return VerdictStatus(published, held, asked, work)
    derived = submission_run.derive(
        held, panels.unasked if panels else None, submission_run.subjects if is_open else asked, plans=True
    )
    if is_open and (found := tuple(_open_causes(published, derived))):
        causes, asked = found, asked_all(submission_run)
    edited = edited_lines(published, derived) if checked else []
    work = _work(submission_run, published, causes, derived=derived, asked=asked, edited=edited)
    return VerdictStatus(published, held, asked, work, derived)


def asked_all(submission_run: SubmissionRun) -> tuple[GradingItem, ...]:
    """Return every command of a submission."""
    return tuple(submission_run.subjects)


def _asked(
    published: Published, submission_run: SubmissionRun, causes: Sequence[str], *, stale: bool
) -> tuple[GradingItem, ...]:
    """Return the commands to judge: all of them if the file's header changes, else the new and changed ones."""
    if bool(causes) if stale else bool(published.fault or (published.causes and published.new)):
        return asked_all(submission_run)
    return () if stale else (*published.new, *published.changed)


def _has_undecided(published: Published) -> bool:
    lines = published.file.verdicts if published.file else ()
    return any(each.finding.outcome is Outcome.UNDECIDED for each in lines)


def _open_causes(published: Published, derived: Derived) -> Iterator[str]:
    """Yield a cause if the panel was not asked about undecided commands, or if stored replies decide some by now."""
    if derived.panel is not None and derived.panel.calls:
        yield f"panel: {derived.panel.undecided} undecided that it was not asked about"
    elif decided := len(edited_lines(published, derived)):
        yield f"panel: {decided} undecided that replies which there are by now decide"


def _is_to_be_checked(published: Published, submission_run: SubmissionRun, sources: EvidenceSources) -> bool:
    """Return whether lines are gone from the file, or it differs from the file that was derived from the evidence."""
    return bool(published.gone) or not _is_untouched(published, submission_run, sources)


def _is_untouched(published: Published, submission_run: SubmissionRun, sources: EvidenceSources) -> bool:
    """Return whether the file is byte for byte the one that was derived from the published evidence."""
    header = sources.published_from(submission_run.context.suite.manifest.name, submission_run.submission.slug)
    return header is not None and published.sha256 is not None and header.verdicts == published.sha256


def _panel_causes(published: Published, submission_run: SubmissionRun, panels: PanelPair | None) -> Iterator[str]:
    """Yield a cause if another panel than today's decided some of the lines."""
    if published.file is None:
        return
    voters = {each.panel for each in published.file.verdicts if each.panel is not None}
    models = submission_run.submission.manifest.models
    today = panels.replay.digest(submission_run.context.judge.name, models) if panels else None
    if voters - {today}:
        number = sum(each.panel not in (None, today) for each in published.file.verdicts)
        yield f"panel: {number} decided by other models, votes or words than today's"


def _work(
    submission_run: SubmissionRun,
    published: Published,
    causes: Sequence[str],
    *,
    derived: Derived | None = None,
    asked: Sequence[GradingItem] = (),
    edited: Sequence[Problem] = (),
    executions: int = 0,
    unchecked: bool = False,
) -> PendingWork:
    lacking = {each.subject for each in derived.missing} & set(asked) if derived else set()
    return PendingWork(
        submission=submission_run.submission.slug,
        suite=submission_run.context.suite.manifest.name,
        asked=len(submission_run.subjects),
        new=tuple(each.task for each in published.new),
        changed=tuple(each.task for each in published.changed),
        gone=published.gone,
        edited=tuple(edited),
        causes=tuple(causes),
        fault=printable(published.fault),
        executions=executions or len(lacking),
        panel=derived.panel if derived else None,
        unchecked=unchecked and published.file is not None,
    )
