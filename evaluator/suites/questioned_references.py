"""This module reads a suite's overrides about references: the retired references, and the references in doubt.

Both files are in `fixtures/overrides/<suite>/`. They contain digests and reasons, but no commands, so they may be
committed for an external suite too. A line applies to a reference of a task as long as the instruction of the task and
the command of the reference are unchanged. Other lines are ignored here, and `check` reports them.

A retirement raises the minor version of the suite. So the version of a loaded suite is the highest version in
`suite.toml` and in the retirements that apply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from evaluator.errors import FormatError, Problem, Severity
from evaluator.records import (
    OutputMode,
    ReferenceDoubt,
    RetiredReference,
    SuiteManifest,
    Task,
    command_digest,
    digest_of,
)
from evaluator.records.record import version_numbers
from evaluator.records.record_lines import read_record_lines
from evaluator.wording import pluralize

RETIRED: Final = "retired.jsonl"
DOUBTS: Final = "doubts.jsonl"

LineType = TypeVar("LineType", RetiredReference, ReferenceDoubt)


@dataclass(frozen=True, slots=True)
class RetiredCommand:
    """A reference that was retired: its command, the reason, and the version of the suite without the reference."""

    command: bytes
    because: str
    version: str


class Numbered(NamedTuple):
    """A line of a file of retirements, with its number."""

    number: int
    line: RetiredReference


def overrides_path(suite_folder: Path, file: str) -> Path:
    """Return the path of a file with overrides of the suite in `suite_folder`."""
    return suite_folder.parent / "overrides" / suite_folder.name / file


def instruction_digest(task: Task) -> str:
    """Return the digest by which overrides name a task's instruction."""
    return digest_of(task.nl.encode())


def least_references(task: Task, *, external: bool) -> int:
    """Return the least number of references of a task. An external suite has only those of its publisher."""
    return 1 if external else 3 if task.output is OutputMode.SET else 2


def read_retirements(path: Path) -> list[Numbered]:
    """Return the lines of a file of retirements. Raises FormatError with all invalid and repeated lines."""
    return [Numbered(number, line) for number, line in _read(path, RetiredReference)]


def read_doubts(path: Path) -> list[ReferenceDoubt]:
    """Return the lines of a file of references in doubt. Raises FormatError with all invalid and repeated lines."""
    return [line for _, line in _read(path, ReferenceDoubt)]


def _read(path: Path, record: type[LineType]) -> list[tuple[int, LineType]]:
    problems: list[Problem] = []
    firsts: dict[tuple[str, str, str], int] = {}
    lines = read_record_lines(path, record, problems, expected="a line about a reference") if path.is_file() else []
    for number, line in lines:
        first = firsts.setdefault((line.task, line.instruction_digest, line.command_digest), number)
        if first != number:
            problems.append(Problem(path, number, f"names the reference of line {first} again: keep one of them"))
    if problems:
        raise FormatError(problems)
    return lines


def applies(line: RetiredReference | ReferenceDoubt, tasks: Mapping[str, Task]) -> bool:
    """Return whether a line names a present reference of a task with an unchanged instruction."""
    task = tasks.get(line.task)
    if task is None or line.instruction_digest != instruction_digest(task):
        return False
    return line.command_digest in map(command_digest, task.references)


class Reduced(NamedTuple):
    """A task without its retired references, and these references."""

    task: Task
    retired: tuple[RetiredCommand, ...]


def without_retired(task: Task, retirements: Iterable[Numbered], *, external: bool) -> Reduced:
    """Return a task without its retired references.

    Raises ValueError if too few references remain.
    """
    lines = {line.command_digest: line for _, line in retirements if applies(line, {task.id: task})}
    kept = tuple(command for command in task.references if command_digest(command) not in lines)
    least = min(least_references(task, external=external), len(task.references))
    if len(kept) < least:
        remain = f"{len(kept)} of {len(task.references)} would remain"
        expected = f"expected at least {pluralize(least, 'reference')}"
        raise ValueError(f"{task.id}: {expected}, but {remain}; add another reference first")
    retired = tuple(
        RetiredCommand(command, line.because, line.version)
        for command in task.references
        if (line := lines.get(command_digest(command)))
    )
    return Reduced(task.model_copy(update={"references": kept}) if retired else task, retired)


def raised_manifest(manifest: SuiteManifest, retirements: Iterable[Numbered], tasks: Sequence[Task]) -> SuiteManifest:
    """Return the manifest with the version that the applying retirements made. Earlier versions stay answerable."""
    by_id = {task.id: task for task in tasks}
    made = [line.version for _, line in retirements if applies(line, by_id)]
    version, *earlier = raised_versions((manifest.version, *manifest.earlier_versions), made)
    return manifest.model_copy(update={"version": version, "earlier_versions": tuple(earlier)})


def raised_versions(versions: Sequence[str], made: Iterable[str]) -> tuple[str, ...]:
    """Return a suite's versions together with those that retirements made. The current version is first, in both."""
    newer = sorted({version for version in made if _is_newer(version, versions[0])}, key=version_numbers)
    return (*reversed(newer), *versions)


def _is_newer(version: str, other: str) -> bool:
    return version_numbers(version) > version_numbers(other)


def next_minor(version: str) -> str:
    """Return the version after a change of references: the next minor version."""
    major, minor, _ = version.split(".")
    return f"{major}.{int(minor) + 1}.0"


def idle_lines(path: Path, retirements: Iterable[Numbered], tasks: Mapping[str, Task]) -> Iterator[Problem]:
    """Yield a warning for each retirement that names no present reference."""
    for number, line in retirements:
        if not applies(line, tasks):
            message = f"retires nothing: {line.task} was reworded or removed, or its reference changed; remove the line"
            yield Problem(path, number, message, Severity.WARNING)


def doubts_of(suite_folder: Path, tasks: Iterable[Task]) -> dict[str, tuple[ReferenceDoubt, ...]]:
    """Return the references in doubt of each task of a suite. Lines that no longer apply are left out."""
    by_id = {task.id: task for task in tasks}
    doubts: dict[str, tuple[ReferenceDoubt, ...]] = {}
    for line in read_doubts(overrides_path(suite_folder, DOUBTS)):
        if applies(line, by_id):
            doubts[line.task] = (*doubts.get(line.task, ()), line)
    return doubts
