"""Read and write the records of verified tasks, and select the tasks that must be verified again.

A record holds digests of everything that the verification of a task depends on. A task whose record has other digests,
or that has no record, is *due*. Records are derived data, but a contributor may write any bytes into the file. So an
invalid line never stops a verification: it is named with its line, and its task is due.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem
from evaluator.files import write_whole
from evaluator.json_lines import lines_with_ends, parse_line
from evaluator.judges import find_judge
from evaluator.pipeline.git import resolve_commit, run_git
from evaluator.pipeline.project import Project
from evaluator.records import (
    Task,
    VerificationHeader,
    VerifiedTask,
    canonical_json,
    digest_of,
    json_lines,
    read_format,
)
from evaluator.sandbox.image_recipe import runner_digest
from evaluator.suites.load import Suite
from evaluator.wording import pluralize

FILE: Final = "verified.jsonl"
"""The file of the records in the folder of a suite."""

_ENVIRONMENT: Final = {"shell", "base", "bases", "limits", "clock", "environment", "user", "cwd", "scratch"}
"""The fields of `suite.toml` on which the verification of every task depends."""

_TASK_OMITS: Final = {"timing", "difficulty", "topic", "since", "tier"}
_WORLD_OMITS: Final = {"format", "title", "fresh", "names", "numbers", "order"}
"""Fields that change no verdict. The order of variants decides when a failing command ends, and not if it fails."""


@dataclass(frozen=True)
class DueTasks:
    """The tasks of a suite to verify again, in the order of the suite.

    `due` maps the tasks without a current record to the reason. `sampled` lists the other tasks that were selected.
    `problems` are the invalid lines of the file of records.
    """

    due: Mapping[str, str]
    sampled: tuple[str, ...]
    problems: tuple[Problem, ...]


def records_path(suite: Suite) -> Path:
    """Return the path of a suite's records of verified tasks."""
    return suite.folder / FILE


def header_of(project: Project, suite: Suite) -> VerificationHeader:
    """Return what the verification of every task of a suite depends on in this checkout."""
    judge = find_judge(project.settings.judge)
    return VerificationHeader(
        format=1,
        suite=suite.manifest.name,
        base=str(suite.manifest.base),
        environment=digest_of(canonical_json(suite.manifest.model_dump(mode="json", include=_ENVIRONMENT))),
        judge=judge.name,
        judge_version=judge.version,
        runner=runner_digest(),
    )


def record_of(suite: Suite, task: Task) -> VerifiedTask:
    """Return the record that a task gets if every expectation holds."""
    world = suite.worlds[task.world]
    asked = task.model_dump(mode="json", exclude=_TASK_OMITS, exclude_defaults=True)
    settings = canonical_json(world.manifest.model_dump(mode="json", exclude=_WORLD_OMITS, exclude_defaults=True))
    return VerifiedTask(
        task=task.id,
        digest=digest_of(canonical_json(asked), suite.instructions(task).encode()),
        world=digest_of(world.name.encode(), settings, world.build, world.start or b""),
    )


def read_records(project: Project, suite: Suite) -> tuple[dict[str, VerifiedTask], list[Problem]]:
    """Return the records of a suite by task, and the problems of the file. Without a file there are no records.

    If the header is not that of this checkout, there are no records either. Raises FormatError if the file has a newer
    format.
    """
    path = records_path(suite)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        return {}, [Problem(path, 0, f"cannot be read: {error.strerror}; no task has a record")]
    return parse_records(data, path, header_of(project, suite), {task.id for task in suite.tasks})


def parse_records(
    data: bytes, path: Path, expected: VerificationHeader, tasks: Collection[str]
) -> tuple[dict[str, VerifiedTask], list[Problem]]:
    """Return the records of a file by task, and the problems of its lines. `tasks` are the ids of the suite's tasks.

    There are no records if the header is not `expected`. A task with two records has none. Raises FormatError if the
    file has a newer format.
    """
    first, *lines = lines_with_ends(data) or [b""]
    try:
        header = _header(first, path)
    except ValueError as error:
        return {}, [Problem(path, 1, f"{_reason(error)}: expected a header, so no record is current")]
    if changes := _changes(header, expected):
        end = f"so its {pluralize(len(lines), 'record is', 'records are')} not current"
        return {}, [Problem(path, 1, f"{'; '.join(changes)}, {end}")]
    records: dict[str, VerifiedTask] = {}
    problems: list[Problem] = []
    repeated = set()
    for number, line in enumerate(lines, 2):
        try:
            record = VerifiedTask.model_validate(parse_line(line.rstrip(), nesting=1))
        except ValueError as error:
            problems.append(Problem(path, number, f"{_reason(error)}: expected the record of a task"))
            continue
        if record.task not in tasks:
            problems.append(Problem(path, number, f"the suite has no task {record.task}"))
        elif record.task in records:
            repeated.add(record.task)
            problems.append(Problem(path, number, f"task {record.task} has a record already, so none of them counts"))
        else:
            records[record.task] = record
    return {name: each for name, each in records.items() if name not in repeated}, problems


def _header(line: bytes, path: Path) -> VerificationHeader:
    """Parse the first line. Raises ValueError if it is invalid, and FormatError for a newer format."""
    value = parse_line(line.rstrip(), nesting=1)
    try:
        read_format(value, FILE)
    except ValueError as error:
        raise FormatError([Problem(path, 1, str(error))]) from error
    return VerificationHeader.model_validate(value)


def _reason(error: ValueError) -> str:
    """Return the reason why a line is invalid: for a record, its first wrong field."""
    if isinstance(error, ValidationError):
        detail = error.errors(include_url=False, include_context=False)[0]
        return f"{'.'.join(map(str, detail['loc'])) or 'the line'}: {detail['msg']}, found {detail['input']!r:.100}"
    return str(error)[:300]


def _changes(found: VerificationHeader, expected: VerificationHeader) -> list[str]:
    """Return the differences between the header of a file and that of this checkout, in words."""
    values = {name: (getattr(found, name), getattr(expected, name)) for name in type(found).model_fields}
    digests = {"environment", "runner"}
    return [
        f"{name}: expected {'that of this checkout, found another one' if name in digests else f'{new}, found {old}'}"
        for name, (old, new) in values.items()
        if old != new
    ]


def select_due(project: Project, suite: Suite, *, every: int | None = None, since: str | None = None) -> DueTasks:
    """Return the tasks without a current record, and with `every` also each n-th other task.

    With the commit `since`, a record counts only if the file of that commit has the same record. So a record that a
    contributor wrote by hand is verified. The other tasks are numbered by the digests of their ids, so that the
    selection is the same on every machine and mixes the topics.

    Raises FormatError if the file has a newer format, and UsageError if `since` is not a commit of this checkout.
    """
    records, problems = read_records(project, suite)
    earlier = records if since is None else _records_at(project, suite, since)
    due = {}
    for task in suite.tasks:
        if reason := _why_due(records.get(task.id), record_of(suite, task)):
            due[task.id] = reason
        elif records[task.id] != earlier.get(task.id):
            due[task.id] = f"its record is not that of {since}"
    others = sorted((task.id for task in suite.tasks if task.id not in due), key=lambda name: digest_of(name.encode()))
    sampled = set(others[::every]) if every else set()
    return DueTasks(due, tuple(task.id for task in suite.tasks if task.id in sampled), tuple(problems))


def _why_due(record: VerifiedTask | None, current: VerifiedTask) -> str:
    """Return why a task without this current record is due, or an empty text if the record is current."""
    if record is None:
        return "it has no current record"
    changed = [part for part, name in (("task", "digest"), ("world", "world")) if _differ(record, current, name)]
    return f"its {' and '.join(changed)} changed" if changed else ""


def _differ(record: VerifiedTask, current: VerifiedTask, name: str) -> bool:
    return bool(getattr(record, name) != getattr(current, name))


def _records_at(project: Project, suite: Suite, since: str) -> dict[str, VerifiedTask]:
    """Return the records of a commit that would count in this checkout."""
    path = records_path(suite)
    commit = resolve_commit(project.root, since)
    data = run_git(project.root, "show", f"{commit}:./{path.relative_to(project.root)}")
    if data is None:
        return {}
    return parse_records(data, path, header_of(project, suite), {task.id for task in suite.tasks})[0]


def write_records(project: Project, suite: Suite, holding: Collection[str], failing: Collection[str]) -> int:
    """Write the records of the tasks that hold, and remove those of the tasks that do not. Return the number of lines.

    The records of other tasks stay. Invalid lines and records with another header are removed. Raises FormatError if
    the file has a newer format, and writes nothing then.
    """
    records = read_records(project, suite)[0]
    records |= {name: record_of(suite, suite.task(name)) for name in holding}
    lines = [records[name] for name in sorted(records) if name not in failing]
    write_whole(records_path(suite), json_lines([header_of(project, suite), *lines]).encode())
    return len(lines)
