"""Read and record adjudications. An adjudication is a maintainer's ruling on one command for one task.

A suite's adjudications are in `fixtures/overrides/<suite>/adjudications.jsonl`. A line contains a task digest and a
command, and applies to every submission with this command for this task, in any spelling of the same canonical form.
Two lines about the same command for the same task are an error. `rulings_of` raises this error, and `check` reports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem, Severity, UsageError
from evaluator.files import write_whole
from evaluator.pipeline.grading.cache_keys import Rulings
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_sound, load_submissions
from evaluator.records import Adjudication, Ruling, Task, command_digest, json_lines
from evaluator.records.record_lines import read_record_lines
from evaluator.shell.canonical import form_digest, form_keys
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite, load_written_suite
from evaluator.suites.questioned_references import RETIRED, idle_lines, overrides_path, read_retirements

FILE: Final = "adjudications.jsonl"


class Adjudicated(NamedTuple):
    """A new ruling on a command, the submissions with this command, and the new content of the adjudications file."""

    path: Path
    adjudication: Adjudication
    command: bytes
    submissions: tuple[str, ...]
    content: bytes


def adjudications_path(project: Project, suite: str) -> Path:
    """Return the path of the file of a suite's adjudications."""
    return project.root / "fixtures" / "overrides" / suite / FILE


def rulings_of(project: Project, suite: Suite) -> Rulings:
    """Return a suite's adjudications, except adjudications of tasks that were changed or removed later.

    Raises FormatError if the adjudications file is invalid.
    """
    path = adjudications_path(project, suite.manifest.name)
    if not path.is_file():
        return {}
    lines, problems = _read(path)
    if problems:
        raise FormatError(problems)
    digests = {task.digest: task.id for task in suite.tasks}
    present = [adjudication for _, adjudication in lines if adjudication.task_digest in digests]
    return {(digests[ruling.task_digest], _key(ruling)): ruling for ruling in present}


def _key(line: Adjudication) -> str:
    """Return the key of the command that a line rules: its form's digest, or that of its bytes in format 1."""
    return line.command_digest if line.command is None else form_digest(line.command)


def _keys(command: bytes) -> tuple[str, ...]:
    """Return the keys by which a line may rule a command."""
    return (*form_keys(command), command_digest(command))


def adjudicate(
    project: Project, *, suite: str, submission: str, task: str, ruling: Ruling, because: str, rank: int = 1
) -> Adjudicated:
    """Record a ruling on a candidate's command. Raises UsageError if a ruling exists or the candidate is missing."""
    change = adjudication_of(
        project, suite=suite, submission=submission, task=task, ruling=ruling, because=because, rank=rank
    )
    change.path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(change.path, change.content)
    return change


def adjudication_of(
    project: Project,
    *,
    suite: str,
    submission: str,
    task: str,
    ruling: Ruling,
    because: str,
    rank: int = 1,
    present: bytes | None = None,
) -> Adjudicated:
    """Return a new ruling, but do not write it.

    `present` is the present content of the adjudications file. By default, the file is read from the checkout. Raises
    UsageError if the command has a ruling already or does not exist, and FormatError for an invalid submission.
    """
    suite_task = project.suite(suite).task(task)
    (loaded,) = load_submissions(project, [submission])
    candidates = loaded.candidates(suite, task)
    if not 1 <= rank <= len(candidates):
        count = f"{len(candidates)} candidates for {task} of {suite}"
        raise UsageError(f"{submission} has {count}: there is no candidate {rank}")
    command = candidates[rank - 1].command
    path = adjudications_path(project, suite)
    lines, problems = _read(path, present)
    if problems:
        raise FormatError(problems)
    new = _adjudication(suite_task, command, ruling, because)
    for number, line in lines:
        if line.task_digest == new.task_digest and _key(line) in _keys(command):
            position = f"{path.relative_to(project.root)}:{number}"
            raise UsageError(f"{position}: rules this command {line.ruling.value} already: change that line")
    ordered = sorted([*(line for _, line in lines), new], key=lambda line: (line.task, line.command_digest))
    sources = _submissions_by_command(load_sound(project).submissions, suite)
    submissions = tuple(sources.get(task, {}).get(_key(new), ()))
    return Adjudicated(path, new, command, submissions, json_lines(ordered).encode())


def _adjudication(task: Task, command: bytes, ruling: Ruling, because: str) -> Adjudication:
    try:
        return Adjudication(
            format=2,
            task=task.id,
            task_digest=task.digest,
            command_digest=command_digest(command),
            command=command,
            ruling=ruling,
            because=because,
        )
    except ValidationError as error:
        raise UsageError(f"--because {because!r}: expected 8 to 500 characters that say why") from error


def check_adjudications(project: Project) -> list[Problem]:
    """Check the adjudications and retired references of all suites.

    Return a problem for each invalid, contradictory or useless line.
    """
    problems: list[Problem] = []
    for suite in project.suites():
        problems += _idle_retirements(suite)
        path = adjudications_path(project, suite.manifest.name)
        lines, unreadable = _read(path)
        problems += unreadable
        if lines:
            problems += _orphans(path, lines, suite, _readable_submissions(project))
    return problems


def _idle_retirements(suite: Suite) -> Iterator[Problem]:
    """Yield a warning for each line of a suite's retired references that no longer applies."""
    path = overrides_path(suite.folder, RETIRED)
    if path.is_file():
        written = {task.id: task for task in load_written_suite(suite.folder).tasks}
        yield from idle_lines(path, read_retirements(path), written)


def _readable_submissions(project: Project) -> list[Submission] | None:
    """Return all submissions, or None if one is invalid. Another part of `check` reports the invalid submission."""
    try:
        return load_submissions(project)
    except FormatError:
        return None


def _read(path: Path, present: bytes | None = None) -> tuple[list[tuple[int, Adjudication]], list[Problem]]:
    """Return the valid lines of an adjudications file with their numbers, and the problems of its other lines.

    If `present` is given, read these bytes instead of the file at `path`. A missing file counts as an empty file.
    """
    problems: list[Problem] = []
    if present is None:
        present = path.read_bytes() if path.is_file() else b""
    lines = read_record_lines(path, Adjudication, problems, data=present, expected="an adjudication")
    return lines, problems + list(_contradictions(path, lines))


def _contradictions(path: Path, lines: Iterable[tuple[int, Adjudication]]) -> Iterator[Problem]:
    firsts: dict[tuple[str, str], tuple[int, Adjudication]] = {}
    for number, line in lines:
        first, earlier = firsts.setdefault((line.task_digest, _key(line)), (number, line))
        if first != number:
            rulings = f"{line.ruling.value} here, {earlier.ruling.value} there"
            yield Problem(path, number, f"rules the command of line {first} on {line.task} again: {rulings}; keep one")


def _orphans(
    path: Path, lines: Iterable[tuple[int, Adjudication]], suite: Suite, submissions: Iterable[Submission] | None
) -> Iterator[Problem]:
    tasks = {task.id: task for task in suite.tasks}
    sources = None if submissions is None else _submissions_by_command(submissions, suite.manifest.name)
    for number, line in lines:
        task = tasks.get(line.task)
        if task is None:
            message = f"rules nothing: the suite has no task {line.task}; remove the line"
        elif task.digest != line.task_digest:
            message = f"rules nothing: the words or references of {line.task} changed; rule the command again"
        elif sources is not None and _key(line) not in sources.get(line.task, {}):
            message = f"rules a command on {line.task} that no submission contains any more"
        else:
            continue
        yield Problem(path, number, message, Severity.WARNING)


def _submissions_by_command(submissions: Iterable[Submission], suite: str) -> Mapping[str, Mapping[str, list[str]]]:
    """Return a mapping from task id and each key of a command to the names of the submissions with this command."""
    sources: dict[str, dict[str, list[str]]] = {}
    for submission in submissions:
        for task, prediction in submission.predictions.get(suite, {}).items():
            for candidate in prediction.candidates or ():
                for key in _keys(candidate.command):
                    slugs = sources.setdefault(task, {}).setdefault(key, [])
                    if submission.slug not in slugs:
                        slugs.append(submission.slug)
    return sources
