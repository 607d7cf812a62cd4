"""Find missing, outdated and edited lines in a submission's published verdicts on one suite, and list the work to do.

A command is *new* if the verdict file has no line for the command. A file is *stale* if the judge, the environment, the
suite version or the LLM panel has changed since the file was written. A command is *changed* if only the cache key of
its line is outdated, because a ruling, a known mutant or the task changed. It is *missing* if its line says that it did
not run, and no earlier candidate passes any more.

An edit by hand does not change a line's cache key. So if a file differs from the file that was derived from the
published evidence, the file is derived again. Every line that differs is reported.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evaluator.errors import FormatError, Problem
from evaluator.escaping import printable
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.grader import PanelPlan
from evaluator.pipeline.grading.llm_panel import PanelPair
from evaluator.pipeline.grading.verdict_files import VerdictFile, read_verdicts, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.derive import AvailableEvidence, DerivedVerdicts, SubmissionRun
from evaluator.pipeline.publishing.evidence_sources import EvidenceSources
from evaluator.records import Finding, Outcome, PublishedVerdict, VerdictsHeader, command_digest

_SHOWN: Final = 160
"""Characters of a text from a file that a message shows."""


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A submission's verdict file on a suite, and its differences from the submission's current commands.

    `new` lists the commands without a line. `gone` counts the lines of commands that the submission no longer contains.
    `causes` describes the outdated parts of the file's header. If no part is outdated, `changed` lists the commands
    with an outdated cache key or place, and `missing` the commands that did not run although no earlier candidate has a
    current line that passes. `misplaced` names the lines that other lines of the file contradict. `sha256` is the
    file's digest, or None if there is no file. `fault` is the reason why the file is invalid.
    """

    path: Path
    sha256: str | None
    file: VerdictFile | None
    new: tuple[GradingItem, ...]
    changed: tuple[GradingItem, ...] = ()
    gone: int = 0
    causes: tuple[str, ...] = ()
    fault: str = ""
    missing: tuple[GradingItem, ...] = ()
    misplaced: tuple[Problem, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Return whether every command has a line with the current cache key, and the file has no other lines."""
        return not (self.new or self.changed or self.missing or self.gone or self.causes or self.fault)


def read_published_file(project: Project, run: SubmissionRun) -> PublishedFile:
    """Compare a submission's verdict file with its current commands and their cache keys. Read no evidence."""
    header, items = run.header, run.items
    path = verdicts_path(project, run.submission.slug, header.suite)
    try:
        file = read_verdicts(path)
        if file is not None and file.header.suite != header.suite:
            raise FormatError([Problem(path, 1, f"suite: expected {header.suite!r}, as the file is named")])
    except FormatError as error:
        return PublishedFile(path, None, None, items, fault=str(error.problems[0]))
    if file is None:
        return PublishedFile(path, None, None, items)
    lines = {item: line for item in items if (line := file.by_command.get(line_key(item)))}
    causes = tuple(_header_causes(file.header, header))
    outdated = {item for item, line in lines.items() if line.key != run.key(item)}
    moved = _misplaced(run, {item: line for item, line in lines.items() if item not in outdated})
    changed = outdated | {item for item, expected in moved.items() if expected}
    return PublishedFile(
        path,
        hashlib.sha256(path.read_bytes()).hexdigest(),
        file,
        new=tuple(item for item in items if item not in lines),
        changed=() if causes else tuple(item for item in items if item in changed),
        missing=() if causes else tuple(item for item, expected in moved.items() if expected is None),
        gone=len(file.by_command.keys() - {line_key(item) for item in items}),
        causes=causes,
        misplaced=tuple(
            Problem(path, file.line_of(*line_key(item)), _contradiction(item, lines[item].finding, expected))
            for item, expected in _misplaced(run, lines).items()
        ),
    )


def _misplaced(run: SubmissionRun, lines: Mapping[GradingItem, PublishedVerdict]) -> dict[GradingItem, Finding | None]:
    """Return the commands whose lines the other lines of their chains contradict.

    A command that did not run must be behind one that passes, and name it. A command that ran must not be behind one.
    The value is the finding that the line should have, or None if only an execution can tell.
    """
    final = run.final({item: line.finding for item, line in lines.items() if not is_not_run(line)})
    expected = {item: final.get(item) for item in lines}
    return {item: finding for item, finding in expected.items() if finding != lines[item].finding}


def _contradiction(item: GradingItem, finding: Finding, expected: Finding | None) -> str:
    ending = f"expected {_describe(expected)}" if expected else "no candidate before it passes"
    return f"says of a command of {item.task} {_describe(finding)}; {ending}"


def is_not_run(line: PublishedVerdict) -> bool:
    """Return whether a published line says that its command did not run, because an earlier candidate passed."""
    return line.finding.outcome is Outcome.NOT_RUN


def line_key(item: GradingItem) -> tuple[str, str]:
    """Return the task and the command digest that identify a grading item's line in a verdict file."""
    return item.task, command_digest(item.command or b"")


def _header_causes(published: VerdictsHeader, today: VerdictsHeader) -> Iterator[str]:
    """Yield a description of each part of a verdict file's header that differs from today's header."""
    if (published.judge, published.judge_version) != (today.judge, today.judge_version):
        judges = (f"{each.judge} {each.judge_version}" for each in (published, today))
        yield "judge: {}, today {}".format(*(printable(judge)[:_SHOWN] for judge in judges))
    if published.suite_version != today.suite_version:
        yield f"suite: version {published.suite_version}, today {today.suite_version}"
    if published.fingerprint != today.fingerprint:
        yield f"environment: {published.fingerprint[:12]}, today {today.fingerprint[:12]}"


def edited_lines(published: PublishedFile, derived: DerivedVerdicts) -> list[Problem]:
    """Return the lines of a verdict file that have a current key but differ from the verdict that the evidence gives.

    A line without available evidence cannot be compared, so it is not reported. Whether a command is not run depends on
    the other lines of its chain and not on its key, so `PublishedFile.misplaced` reports it.
    """
    file = published.file
    if file is None:
        return []
    return [
        Problem(published.path, file.line_of(verdict.task, verdict.command), _difference(line, verdict))
        for verdict in derived.verdicts
        if (line := file.by_command.get((verdict.task, verdict.command)))
        and line.key == verdict.key
        and line != verdict
        and not (is_not_run(line) or is_not_run(verdict))
    ]


def _difference(line: PublishedVerdict, derived: PublishedVerdict) -> str:
    """Return the difference between a published line and the derived verdict, as text that is safe for a terminal."""
    if line.finding == derived.finding:
        fields = [name for name in ("run", "panel") if getattr(line, name) != getattr(derived, name)]
        return f"{' and '.join(fields)}: not what the evidence gives for a command of {line.task}"
    published, expected = _describe(line.finding), _describe(derived.finding)
    if published == expected:
        published, expected = (printable(each.finding.to_json()[: 2 * _SHOWN]) for each in (line, derived))
    return f"says of a command of {line.task} {published}; its evidence gives {expected}"


def _describe(finding: Finding) -> str:
    """Return a short description of a finding that is safe for a terminal."""
    step = f" ({finding.step.value})" if finding.step else ""
    reason = f": {finding.reason}" if finding.reason else ""
    return printable(f"{finding.outcome.value}{step}{reason}"[:_SHOWN])


@dataclass(frozen=True, slots=True)
class PendingWork:
    """The pending work on one submission's verdicts on a suite.

    `new`, `changed` and `missing` contain a task's id once for each command. `missing` are the commands that did not
    run because of a candidate that passes no more. `executions` is the minimum number of executions. `panel` is the
    maximum cost of panel requests about commands with evidence. `unchecked` is true if the file could not be compared
    with its evidence, because evidence was missing.
    """

    submission: str
    suite: str
    asked: int
    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    gone: int = 0
    edited: tuple[Problem, ...] = ()
    causes: tuple[str, ...] = ()
    fault: str = ""
    executions: int = 0
    panel: PanelPlan | None = None
    unchecked: bool = False

    @property
    def is_stale(self) -> bool:
        """Return whether the file's judge, environment, suite version, format or panel differs from today's."""
        return bool(self.causes)

    @property
    def is_new(self) -> bool:
        """Return whether a publish run must correct the file.

        In a stale file, it leaves the lines of commands that the submission no longer contains.
        """
        gone = self.gone and not self.causes
        return bool(self.new or self.changed or self.missing or self.edited or self.fault or gone)

    @property
    def words(self) -> list[str]:
        """Return the reasons why the verdicts must be judged or published again, as a list of texts."""
        lines = {
            "new": self.new,
            "changed by a ruling, a mark, the task or the order of candidates": self.changed,
            "not run because of a candidate that passes no more": self.missing,
            "edited by hand": self.edited,
        }
        reasons = [f"{len(affected)} {name}" for name, affected in lines.items() if affected]
        reasons += [f"{self.gone} no longer in the submission"] if self.gone else []
        reasons += [f"the file is not valid: {self.fault}"] if self.fault else []
        return reasons + list(self.causes)

    def as_json(self) -> dict[str, Any]:
        """Return the work as JSON values."""
        return {
            "submission": self.submission,
            "suite": self.suite,
            "asked": self.asked,
            "new": list(self.new),
            "changed": list(self.changed),
            "missing": list(self.missing),
            "gone": self.gone,
            "edited": [{"line": problem.line, "message": problem.message} for problem in self.edited],
            "stale": list(self.causes),
            "fault": self.fault,
            "executions": self.executions,
            "panel": self.panel._asdict() if self.panel else None,
            "unchecked": self.unchecked,
        }


@dataclass(frozen=True, slots=True)
class VerdictStatus:
    """The status of a submission's verdicts on a suite: the published verdict file and the work to do.

    `pending` lists the commands to judge. `available` is the available evidence, or None if it was not needed.
    `derived` holds the verdicts that follow from this evidence without new panel requests. It is None if the verdicts
    are not needed or evidence is missing.
    """

    published: PublishedFile
    work: PendingWork
    pending: tuple[GradingItem, ...] = ()
    available: AvailableEvidence | None = None
    derived: DerivedVerdicts | None = None


def inspect_submission(
    project: Project,
    submission_run: SubmissionRun,
    sources: EvidenceSources,
    panels: PanelPair | None = None,
    *,
    stale: bool = False,
) -> VerdictStatus:
    """Return the status of a submission's verdicts for publishing, or for a rescore if `stale` is set.

    A rescore judges stale verdicts again. Evidence is read only if there is work to do or the file was modified.
    """
    published = read_published_file(project, submission_run)
    causes = (*published.causes, *_panel_causes(published, submission_run, panels))
    inspection = _Inspection(submission_run, sources, panels, published, causes)
    return inspection.for_rescore() if stale else inspection.for_publishing()


def _panel_causes(published: PublishedFile, submission_run: SubmissionRun, panels: PanelPair | None) -> Iterator[str]:
    """Yield a reason if a verdict file is stale because an earlier LLM panel decided some of its lines."""
    if published.file is None:
        return
    models = submission_run.submission.manifest.models
    today = panels.replay.digest(submission_run.context.judge.name, models) if panels else None
    if number := sum(line.panel not in (None, today) for line in published.file.verdicts):
        yield f"panel: {number} decided with other models, votes or prompts than today's"


@dataclass(frozen=True, slots=True)
class _Inspection:
    """One verdict file, the causes that make it stale, and the evidence sources for judging it again."""

    submission_run: SubmissionRun
    sources: EvidenceSources
    panels: PanelPair | None
    published: PublishedFile
    causes: tuple[str, ...]

    def for_publishing(self) -> VerdictStatus:
        """Return the verdicts' status for a publish run. Stale lines wait for a rescore."""
        published = self.published
        if published.fault or (published.causes and published.new):
            pending = self.submission_run.items  # a file has one header, so all of its lines are judged again
        else:
            pending = (*published.new, *published.changed, *published.missing)
        if not pending and (self.causes or not (published.gone or self._is_modified())):
            return self._status()
        status = self._derive(pending, ask=pending)
        if self.causes or status.derived is None:
            return status
        edited = tuple(edited_lines(published, status.derived))
        return replace(status, work=replace(status.work, edited=edited))

    def for_rescore(self) -> VerdictStatus:
        """Return the status of a verdict file for a rescore of stale lines and of lines that the panel can decide."""
        items = self.submission_run.items
        if self.causes:
            return self._derive(items, ask=items)
        lines = self.published.file.verdicts if self.published.file else ()
        if self.panels is None or all(line.finding.outcome is not Outcome.UNDECIDED for line in lines):
            return self._status()
        status = self._derive((), ask=items)
        if status.work.unchecked or status.derived is None or not (cause := self._undecided_cause(status.derived)):
            return status
        return replace(self, causes=(cause,))._status(items, status.available, status.derived)

    def _is_modified(self) -> bool:
        """Return whether the file differs, in any byte, from the file that was derived from the published evidence."""
        context, slug = self.submission_run.context, self.submission_run.submission.slug
        header = self.sources.published_header(context.suite.manifest.name, slug)
        return header is None or self.published.sha256 is None or header.verdicts != self.published.sha256

    def _undecided_cause(self, derived: DerivedVerdicts) -> str:
        """Return the reason why the panel can now decide undecided lines, or an empty text if there is none."""
        if derived.panel is not None and derived.panel.calls:
            return f"panel: {derived.panel.undecided} undecided commands that it was not asked about"
        if decided := len(edited_lines(self.published, derived)):
            return f"panel: {decided} undecided commands that stored replies decide"
        return ""

    def _derive(self, pending: tuple[GradingItem, ...], ask: tuple[GradingItem, ...]) -> VerdictStatus:
        """Return the status. If all evidence of references exists, include the verdicts that the evidence gives.

        The panel decides the undecided items in `ask` from its stored replies. The status includes the cost of asking
        the panel about these items.
        """
        available = self.sources.load(self.submission_run)
        if self.submission_run.missing_references(available):
            return self._status(pending, available)
        replay = self.panels.unasked if self.panels else None
        return self._status(pending, available, self.submission_run.derive(available, replay, ask, plans=True))

    def _status(
        self,
        pending: tuple[GradingItem, ...] = (),
        available: AvailableEvidence | None = None,
        derived: DerivedVerdicts | None = None,
    ) -> VerdictStatus:
        published = self.published
        failed = {unjudged.item for unjudged in derived.missing} if derived else set[GradingItem]()
        work = PendingWork(
            submission=self.submission_run.submission.slug,
            suite=self.submission_run.context.suite.manifest.name,
            asked=len(self.submission_run.items),
            new=tuple(item.task for item in published.new),
            changed=tuple(item.task for item in published.changed),
            missing=tuple(item.task for item in published.missing),
            gone=published.gone,
            causes=self.causes,
            fault=printable(published.fault),
            executions=self._executions(pending, available, derived) if available else 0,
            panel=derived.panel if derived else None,
            unchecked=bool(available and (derived is None or failed) and not pending and published.file),
        )
        return VerdictStatus(published, work, pending, available, derived)

    def _executions(
        self, pending: Sequence[GradingItem], available: AvailableEvidence, derived: DerivedVerdicts | None
    ) -> int:
        """Return the minimum number of executions that give the pending commands verdicts."""
        run = self.submission_run
        unjudged = set(pending) if derived is None else {each.item for each in derived.missing} & set(pending)
        firsts = run.first_of_chains(unjudged)
        absent = len(run.missing_runs(firsts, available))
        return absent if derived is None else absent or len(firsts)
