"""A submission's verdict file beside what is asked of it today, and beside what its evidence says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import FormatError, Problem
from evaluator.escaping import printable
from evaluator.pipeline.grading.cache_keys import Subject
from evaluator.pipeline.grading.verdict_files import VerdictFile, read_verdicts, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.derive import Derived, Dossier
from evaluator.records import Finding, PublishedVerdict, VerdictsHeader, command_digest

_SHOWN: Final = 160


@dataclass(frozen=True, slots=True)
class Published:
    """What is published of a submission on a suite beside what is asked of it today.

    `new` are commands without a line and `changed` those whose line has another key than today's, though the header is
    today's; `gone` counts lines of commands that are not given any more. `causes` say in words what of the header is
    not today's. `sha256` is the file's, None where there is none; `fault` says why it does not read.
    """

    path: Path
    sha256: str | None
    file: VerdictFile | None
    new: tuple[Subject, ...]
    changed: tuple[Subject, ...] = ()
    gone: int = 0
    causes: tuple[str, ...] = ()
    fault: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether every command has its line under today's key, and there is no other line."""
        return not (self.new or self.changed or self.gone or self.causes or self.fault)


def published_of(project: Project, dossier: Dossier) -> Published:
    """What is published of a submission, compared by keys alone."""
    ground, slug = dossier.ground, dossier.submission.slug
    path = verdicts_path(project, slug, ground.suite.manifest.name)
    try:
        file = read_verdicts(path)
        if file is None:
            return Published(path, None, None, tuple(dossier.subjects))
        if file.header.suite != ground.header.suite:
            raise FormatError([Problem(path, 1, f"suite: expected {ground.header.suite!r}, as the file is named")])
    except FormatError as error:
        return Published(path, None, None, tuple(dossier.subjects), fault=str(error.problems[0]))
    lines = {place_of(each): file.by_command.get(place_of(each)) for each in dossier.subjects}
    causes = tuple(causes_of(file.header, ground.header))
    new = tuple(each for each in dossier.subjects if lines[place_of(each)] is None)
    changed = tuple(
        each for each in dossier.subjects if not causes and _is_changed(dossier, each, lines[place_of(each)])
    )
    gone = len(file.by_command.keys() - lines.keys())
    return Published(path, hashlib.sha256(path.read_bytes()).hexdigest(), file, new, changed, gone, causes)


def place_of(subject: Subject) -> tuple[str, str]:
    """The task and command digest that a subject's line has."""
    return subject.task, command_digest(subject.command or b"")


def _is_changed(dossier: Dossier, subject: Subject, line: PublishedVerdict | None) -> bool:
    return line is not None and line.key != dossier.key(subject)


def causes_of(published: VerdictsHeader, today: VerdictsHeader) -> Iterator[str]:
    """What of a file's header is not today's, in words."""
    if (published.judge, published.judge_version) != (today.judge, today.judge_version):
        yield f"judge: {_judge(published)}, today {_judge(today)}"
    if published.suite_version != today.suite_version:
        yield f"suite: version {published.suite_version}, today {today.suite_version}"
    if published.fingerprint != today.fingerprint:
        yield f"environment: {published.fingerprint[:12]}, today {today.fingerprint[:12]}"


def _judge(header: VerdictsHeader) -> str:
    return printable(f"{header.judge} {header.judge_version}")[:_SHOWN]


def edited_lines(published: Published, derived: Derived) -> list[Problem]:
    """The lines that have the key of their evidence and say something else than what follows from it, at their place.

    A line whose command has no evidence at hand is not among them: nothing can be said of it.
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
    """A finding in a few words, safe for a terminal."""
    step = f" ({finding.step.value})" if finding.step else ""
    reason = f": {finding.reason}" if finding.reason else ""
    return printable(f"{finding.outcome.value}{step}{reason}"[:_SHOWN])


def _fields(finding: Finding) -> str:
    return printable(finding.to_json()[: 2 * _SHOWN])
