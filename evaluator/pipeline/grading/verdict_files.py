"""Read and write files of published verdicts. A verdict file has a header, and then one verdict per line.

Only the publish workflow writes `submissions/<slug>/<suite>.verdicts.jsonl`, but a pull request may contain any bytes
under the same name. So a file is read as untrusted input: its size is limited, every line is validated, and every
problem names its line.

Verdicts are sorted by cache key, and verdicts with the same key by task. Equal verdicts give equal bytes.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from evaluator.errors import FormatError, Problem
from evaluator.json_lines import parse_line
from evaluator.pipeline.project import Project
from evaluator.records import Outcome, PublishedVerdict, Record, VerdictsHeader, read_format
from evaluator.submissions.names import VERDICTS

MAX_BYTES: Final = 32 << 20
"""The size limit of a file. 300 tasks with five candidates each take less than one megabyte."""
MAX_LINE_BYTES: Final = 1 << 20
MAX_PROBLEMS: Final = 50
"""The number of problems after which the rest of a file is not read."""

_NESTING: Final = 6
_SHOWN: Final = 100
_HEADER_FIRST: Final = "expected a header: format, suite, suite_version, judge, judge_version, fingerprint"

RecordType = TypeVar("RecordType", bound=Record)

_VERDICTS: Final = TypeAdapter(list[PublishedVerdict])
_FIRST_FIELD: Final = b'{"key":"'
"""The start of each line that `verdict_bytes` writes. No object inside of a verdict has this field."""


@dataclass(frozen=True)
class VerdictFile:
    """The header and the verdicts of a verdict file. The verdicts are sorted by cache key and then by task."""

    header: VerdictsHeader
    verdicts: tuple[PublishedVerdict, ...]

    @cached_property
    def by_command(self) -> Mapping[tuple[str, str], PublishedVerdict]:
        """Return a mapping from task id and command digest to the verdict."""
        return {(verdict.task, verdict.command): verdict for verdict in self.verdicts}

    def line_of(self, task: str, command: str) -> int:
        """Return the line number, from 1, of the verdict on a task's command.

        Raises KeyError if the file has no such verdict.
        """
        return self._lines[task, command]

    @cached_property
    def _lines(self) -> Mapping[tuple[str, str], int]:
        return {(verdict.task, verdict.command): number for number, verdict in enumerate(self.verdicts, 2)}


def verdicts_path(project: Project, slug: str, suite: str) -> Path:
    """Return the path of the verdict file of a submission and a suite."""
    return project.root / "submissions" / slug / f"{suite}{VERDICTS}"


def read_verdicts(path: Path) -> VerdictFile | None:
    """Read a verdict file, or return None if there is none. Raises FormatError with every problem and its line."""
    try:
        with open(path, "rb", opener=_unfollowed) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FormatError(
                    [Problem(path, 0, "not a regular file: expected a file that the publish workflow wrote")]
                )
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FormatError([Problem(path, 0, f"cannot be read: {error.strerror}; expected a regular file")]) from error
    return verdicts_in(data, path)


def _unfollowed(path: str, flags: int) -> int:
    """Open a file, but do not follow a symbolic link and do not wait for the writer of a FIFO."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def verdicts_in(data: bytes, path: Path) -> VerdictFile:
    """Parse a verdict file. Error messages name the file `path`. Raises FormatError with every problem and its line."""
    if len(data) > MAX_BYTES:
        raise FormatError([Problem(path, 0, f"more than {MAX_BYTES:,} bytes: the file is not read")])
    problems: list[Problem] = []
    first, *lines = data.split(b"\n")
    header = _read(first, VerdictsHeader, path, 1, problems)
    if header is None:
        raise FormatError([*problems, Problem(path, 1, _HEADER_FIRST)])
    if lines[-1:] != [b""]:
        problems.append(
            Problem(path, 1 + len(lines), "the last line does not end with a newline: the file may be cut off")
        )
    verdicts = [] if problems else _canonical(lines[:-1])
    for number, line in [] if verdicts else enumerate(lines[:-1] if lines[-1:] == [b""] else lines, 2):
        verdict = _read(line, PublishedVerdict, path, number, problems)
        verdicts += [] if verdict is None else [(number, verdict)]
        if len(problems) >= MAX_PROBLEMS:
            raise FormatError([*problems, Problem(path, number, "too many problems: the rest of the file is not read")])
    problems += _contradictions(verdicts, path)
    if problems:
        raise FormatError(problems)
    return VerdictFile(header, tuple(verdict for _, verdict in verdicts))


def _canonical(lines: list[bytes]) -> list[tuple[int, PublishedVerdict]]:
    """Parse lines all at once if they are exactly the lines that `verdict_bytes` writes. Otherwise return nothing.

    This takes a fifth of the time. A line that equals the JSON of its record has no repeated field and no other fault
    that the strict parser reports. Each line begins an object, so as many objects as lines have the same boundaries.
    """
    if any(len(line) > MAX_LINE_BYTES or not line.startswith(_FIRST_FIELD) for line in lines):
        return []
    data = b"[" + b",".join(lines) + b"]"
    try:
        verdicts = _VERDICTS.validate_json(data)
    except ValueError:
        return []
    if len(verdicts) != len(lines) or _VERDICTS.dump_json(verdicts, exclude_defaults=True) != data:
        return []
    return list(enumerate(verdicts, 2))


def verdict_bytes(file: VerdictFile) -> bytes:
    """Return a verdict file's bytes, with sorted verdicts.

    Raises ValueError for a verdict that must not be published.
    """
    verdicts = sorted(file.verdicts, key=_order)
    faults = list(_contradictions(list(enumerate(verdicts, 2)), Path("verdicts")))
    if faults:
        raise ValueError(f"cannot be published: {faults[0]}")
    return "".join(f"{record.model_dump_json(exclude_defaults=True)}\n" for record in (file.header, *verdicts)).encode()


def _order(verdict: PublishedVerdict) -> tuple[str, str]:
    return verdict.key, verdict.task


def _read(line: bytes, record: type[RecordType], path: Path, number: int, problems: list[Problem]) -> RecordType | None:
    """Parse a line of a verdict file as a `record`. If it is invalid, report this in `problems` and return None."""
    if len(line) > MAX_LINE_BYTES:
        problems.append(Problem(path, number, f"{len(line):,} bytes: expected at most {MAX_LINE_BYTES:,} in a line"))
        return None
    try:
        value = parse_line(line, _NESTING)
        read_format(value, path.name, record.newest_format)
        return record.model_validate_json(json.dumps(value))
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False)[:MAX_PROBLEMS]:
            field = ".".join(map(str, fault["loc"])) or "the line"
            problems.append(Problem(path, number, f"{field}: {fault['msg']}, found {fault['input']!r:.{_SHOWN}}"))
    except ValueError as error:
        problems.append(Problem(path, number, f"cannot be read: {error}"[: 3 * _SHOWN]))
    return None


def _contradictions(verdicts: list[tuple[int, PublishedVerdict]], path: Path) -> Iterator[Problem]:
    """Yield problems of a verdict file as a whole.

    These are unsorted lines, two verdicts on one command, infra-errors, and commands that are not run although no
    command of their task passes. The order of a task's commands is not in the file.
    """
    first_lines: dict[tuple[str, str], int] = {}
    passed = {verdict.task for _, verdict in verdicts if verdict.finding.outcome is Outcome.PASS}
    previous: tuple[str, str] | None = None
    for number, verdict in verdicts:
        if verdict.finding.outcome is Outcome.INFRA_ERROR:
            yield Problem(path, number, "finding.outcome: an infra-error is no verdict and is never published")
        if verdict.finding.outcome is Outcome.NOT_RUN:
            if verdict.task not in passed:
                yield Problem(path, number, f"finding.outcome: not run, but no command of {verdict.task} passes")
            if verdict.run or verdict.panel or verdict.finding.step or verdict.finding.variant:
                yield Problem(path, number, "finding.outcome: not run, but the line has a run, panel, step or variant")
        if previous is not None and _order(verdict) <= previous:
            order = "is repeated" if _order(verdict) == previous else "follows a greater key"
            yield Problem(path, number, f"key: {verdict.key[:16]}… {order}: expected lines sorted by key")
        first = first_lines.setdefault((verdict.task, verdict.command), number)
        if first != number:
            yield Problem(path, number, f"judges a command of {verdict.task} again: line {first} judges it already")
        previous = _order(verdict)
