"""Adjudications: rulings of maintainers on single commands, stored in `fixtures/overrides/<suite>/adjudications.jsonl`.

A line applies to every command with its command digest on the task with its task digest, in any submission. Two lines
that rule the same command differently have no effect: reading them raises an error, and `check` reports them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem, Severity, UsageError
from evaluator.files import write_whole
from evaluator.pipeline.grading.cache_keys import Rulings
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_sound, load_submissions
from evaluator.records import Adjudication, Ruling, Task, command_digest, json_lines, read_format
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite

FILE: Final = "adjudications.jsonl"


class Adjudicated(NamedTuple):
    """A new line, the path and the complete new content of its file, and the submissions that contain the command."""

    path: Path
    adjudication: Adjudication
    command: bytes
    submissions: tuple[str, ...]
    content: bytes


def adjudications_path(project: Project, suite: str) -> Path:
    """Return the path of a suite's adjudications."""
    return project.root / "fixtures" / "overrides" / suite / FILE


def rulings_of(project: Project, suite: Suite) -> Rulings:
    """Return the rulings on the suite's present tasks. Raises FormatError if the file cannot be read."""
    path = adjudications_path(project, suite.manifest.name)
    if not path.is_file():
        return {}
    lines, problems = _read(path)
    if problems:
        raise FormatError(problems)
    digests = {task.digest: task.id for task in suite.tasks}
    return {(digests[each.task_digest], each.command_digest): each for _, each in lines if each.task_digest in digests}


def adjudicate(
    project: Project, *, suite: str, submission: str, task: str, ruling: Ruling, because: str, rank: int = 1
) -> Adjudicated:
    """Rule a candidate's command on a task. Raises UsageError if it is already ruled or does not exist."""
    made = adjudication_of(
        project, suite=suite, submission=submission, task=task, ruling=ruling, because=because, rank=rank
    )
    made.path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(made.path, made.content)
    return made


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
    """Return what `adjudicate` would write. `present` replaces the current content of the file.

    Raises UsageError if the command is already ruled or does not exist, and FormatError for a broken submission.
    """
    asked = project.suite(suite).task(task)
    (entry,) = load_submissions(project, [submission])
    command = _command(entry, suite, task, rank)
    path = adjudications_path(project, suite)
    lines, problems = _read(path, present)
    if problems:
        raise FormatError(problems)
    made = _adjudication(asked, command, ruling, because)
    for number, each in lines:
        if (each.task_digest, each.command_digest) == (made.task_digest, made.command_digest):
            place = path.relative_to(project.root)
            raise UsageError(f"{place}:{number}: rules this command {each.ruling.value} already: change that line")
    ordered = sorted([*(each for _, each in lines), made], key=lambda each: (each.task, each.command_digest))
    givers = _givers(load_sound(project).submissions, suite, task, made.command_digest)
    return Adjudicated(path, made, command, tuple(givers), json_lines(ordered).encode())


def _command(entry: Submission, suite: str, task: str, rank: int) -> bytes:
    given = entry.candidates(suite, task)
    if not 1 <= rank <= len(given):
        raise UsageError(f"{entry.slug} gave {len(given)} candidates for {task} of {suite}: there is no number {rank}")
    return given[rank - 1].command


def _adjudication(task: Task, command: bytes, ruling: Ruling, because: str) -> Adjudication:
    try:
        return Adjudication(
            format=1,
            task=task.id,
            task_digest=task.digest,
            command_digest=command_digest(command),
            ruling=ruling,
            because=because,
        )
    except ValidationError as error:
        raise UsageError(f"--because {because!r}: expected 8 to 500 characters that say why") from error


def check_adjudications(project: Project) -> list[Problem]:
    """Return a problem for each line of any suite that is unreadable, contradicts another line or rules nothing."""
    problems: list[Problem] = []
    for suite in project.suites():
        path = adjudications_path(project, suite.manifest.name)
        lines, faults = _read(path)
        problems += faults
        if lines:
            problems += _orphans(path, lines, suite, _readable_submissions(project))
    return problems


def _readable_submissions(project: Project) -> list[Submission] | None:
    """Return all submissions, or None if one is broken: `check` reports that elsewhere."""
    try:
        return load_submissions(project)
    except FormatError:
        return None


def _read(path: Path, present: bytes | None = None) -> tuple[list[tuple[int, Adjudication]], list[Problem]]:
    """Read the lines with their numbers, and return the problems of the others. A missing file has no lines."""
    lines: list[tuple[int, Adjudication]] = []
    problems: list[Problem] = []
    if present is None:
        present = path.read_bytes() if path.is_file() else b""
    for number, line in enumerate(present.splitlines(), 1):
        try:
            value = json.loads(line)
            read_format(value, path.name)
            lines.append((number, Adjudication.model_validate(value)))
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False)
            problems += [Problem(path, number, f"{'.'.join(map(str, each['loc']))}: {each['msg']}") for each in details]
        except ValueError as error:
            problems.append(Problem(path, number, f"does not read as an adjudication: {error}"))
    return lines, problems + list(_contradictions(path, lines))


def _contradictions(path: Path, lines: Iterable[tuple[int, Adjudication]]) -> Iterator[Problem]:
    seen: dict[tuple[str, str], tuple[int, Adjudication]] = {}
    for number, each in lines:
        first, earlier = seen.setdefault((each.task_digest, each.command_digest), (number, each))
        if first != number:
            said = f"{each.ruling.value} here, {earlier.ruling.value} there"
            yield Problem(path, number, f"rules the command of line {first} on {each.task} again: {said}; keep one")


def _orphans(
    path: Path, lines: Iterable[tuple[int, Adjudication]], suite: Suite, entries: Iterable[Submission] | None
) -> Iterator[Problem]:
    tasks = {task.id: task for task in suite.tasks}
    given = None if entries is None else _given(entries, suite.manifest.name)
    for number, each in lines:
        task = tasks.get(each.task)
        if task is None:
            message = f"rules nothing: the suite has no task {each.task}; remove the line"
        elif task.digest != each.task_digest:
            message = f"rules nothing: {each.task} was reworded, or its references changed; rule it anew"
        elif given is not None and each.command_digest not in given.get(each.task, {}):
            message = f"rules a command on {each.task} that no submission gives any more"
        else:
            continue
        yield Problem(path, number, message, Severity.WARNING)


def _given(entries: Iterable[Submission], suite: str) -> Mapping[str, Mapping[str, list[str]]]:
    """Return the submissions that contain each command, by task and command digest."""
    found: dict[str, dict[str, list[str]]] = {}
    for entry in entries:
        for task, prediction in entry.predictions.get(suite, {}).items():
            for candidate in prediction.candidates or ():
                givers = found.setdefault(task, {}).setdefault(candidate.digest, [])
                if entry.slug not in givers:
                    givers.append(entry.slug)
    return found


def _givers(entries: Iterable[Submission], suite: str, task: str, digest: str) -> list[str]:
    return list(_given(entries, suite).get(task, {}).get(digest, []))
