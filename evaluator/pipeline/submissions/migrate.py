"""Move the answers of a submission to the suites that have their tasks now.

The order of the writes is the new file, the old file, the manifest. Each write is atomic. So a process that is killed
loses no answer, and the next run completes the migration.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.files import write_whole
from evaluator.json_lines import lines_with_ends
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import suite_info
from evaluator.submissions.folder import EntryKind, kind_of
from evaluator.submissions.names import MANIFEST_NAME, PREDICTIONS
from evaluator.submissions.suite_info import SuiteInfo
from evaluator.wording import pluralize

_ENTRY: Final = re.compile(
    r"""["']?\b(?P<suite>[a-z0-9-]{1,64})["']?[ \t]{0,99}=[ \t]{0,99}["'](?P<version>[0-9.]{1,99})["']"""
)
"""The version of a suite in submission.toml."""


def migrate_submission(project: Project, slug: str) -> list[tuple[Path, str]]:
    """Move the answers to tasks that left their suite, and update submission.toml.

    Lines and comments that do not change stay as they are, byte for byte. Return each written file with a text that
    says what changed, or nothing if there is nothing to do. Raises UsageError if the submission does not exist or a
    file cannot be read, and FormatError for an unreadable manifest or two answers to one task. Then nothing is written.
    """
    folder = project.submission_folder(slug)
    path = folder / MANIFEST_NAME
    text = _read(path).decode(errors="surrogateescape")
    manifest = _parse(text, path)
    writes: dict[Path, tuple[bytes, str]] = {}
    versions: dict[str, str] = {}
    table = manifest.get("suites")
    suites = table if isinstance(table, dict) else {}
    for source, answered in suites.items():
        info = suite_info(project, source) if source in project.answerable_suites() else None
        if info is not None and info.moved_in:
            answers = _moved_answers(folder, source, info)
            writes |= answers
            others = [name for name in info.moved_in if (target := _file(folder, name)) in answers or target.exists()]
            added = {name: suite_info(project, name).version for name in others if name not in suites}
            if answers or added or info.lost_tasks_since(str(answered)):
                text = _with_versions(text, path, source, info.version, added)
                versions |= {source: info.version, **added}
    if versions:
        new = text.encode(errors="surrogateescape")
        writes[path] = new, ", ".join(f"{name} = {version}" for name, version in versions.items())
    for file, (data, _) in writes.items():
        write_whole(file, data)
    return [(file, change) for file, (_, change) in writes.items()]


def _moved_answers(folder: Path, source: str, info: SuiteInfo) -> dict[Path, tuple[bytes, str]]:
    """Return the new bytes of the files with answers, and what changed. The file of the suite `source` is the last."""
    path = _file(folder, source)
    lines = lines_with_ends(_read(path))
    targets = [info.moved.get(_task_of(line)) for line in lines]
    files: dict[Path, tuple[bytes, str]] = {}
    for target in dict.fromkeys(filter(None, targets)):
        file = _file(folder, target)
        present = lines_with_ends(_read(file)) if file.exists() else []
        answered = {_task_of(line): (number, line.strip()) for number, line in enumerate(present, 1)}
        moved = [line for line, suite in zip(lines, targets, strict=True) if suite == target]
        problems = [
            Problem(file, answered[task][0], f"task {task}: another answer than in {path.name}; keep one of the two")
            for line in moved
            if (task := _task_of(line)) in answered and answered[task][1] != line.strip()
        ]
        if problems:
            raise FormatError(problems)
        new = [line for line in moved if _task_of(line) not in answered]
        data = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in [*present, *new])
        files[file] = data, f"{pluralize(len(moved), 'answer')} from {path.name}"
    if files:
        left = [line for line, suite in zip(lines, targets, strict=True) if suite is None]
        hint = "" if left else f": remove the file, and {source} from {MANIFEST_NAME}"
        files[path] = b"".join(left), f"{pluralize(len(left), 'answer')} left{hint}"
    return files


def _task_of(line: bytes) -> str:
    """Return the task that a line answers, or nothing for a line that cannot be read, which stays where it is."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    task = value.get("task") if isinstance(value, dict) else None
    return task if isinstance(task, str) else ""


def _with_versions(text: str, path: Path, source: str, version: str, added: Mapping[str, str]) -> str:
    """Return the text of submission.toml with a new version of a suite and with further suites behind it.

    TOML has several forms of a table. A draft counts only if it has the expected value. Raises FormatError otherwise.
    """
    expected = _parse(text, path)
    expected["suites"] |= {source: version, **added}
    for entry in (entry for entry in _ENTRY.finditer(text) if entry["suite"] == source):
        for draft in _drafts(text, entry, version, added):
            try:
                if tomllib.loads(draft) == expected:
                    return draft
            except tomllib.TOMLDecodeError:
                continue
    lines = ", ".join(f'{name} = "{each}"' for name, each in {source: version, **added}.items())
    raise FormatError([Problem(path, 0, f"suites: the table has a form that is not changed here: write {lines}")])


def _drafts(text: str, entry: re.Match[str], version: str, added: Mapping[str, str]) -> Iterator[str]:
    """Yield the text with new suites on lines of their own, and with new suites on the line of the entry."""
    before, value_end = text[: entry.start("version")] + version, entry.end("version")
    line_end = text.find("\n", value_end) + 1 or len(text)
    line = text[value_end:line_end]
    start = text[text.rfind("\n", 0, entry.start()) + 1 : entry.start()]
    eol = "\r\n" if line.endswith("\r\n") else "\n"
    rows = "".join(f'{start}{name} = "{each}"{eol}' for name, each in added.items())
    yield before + line + ("" if not rows or line.endswith("\n") else eol) + rows + text[line_end:]
    items = "".join(f', {name} = "{each}"' for name, each in added.items())
    yield before + text[value_end] + items + text[value_end + 1 :]


def _file(folder: Path, suite: str) -> Path:
    return folder / f"{suite}{PREDICTIONS}"


def _read(path: Path) -> bytes:
    """Return the bytes of a file. A link is refused, because its target may be a file that nobody may publish."""
    if not path.exists() or kind_of(path) is not EntryKind.FILE:
        raise UsageError(f"{path}: expected a regular file; see: bashboard check")
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise FormatError([Problem(path, 0, f"broken TOML: {error}")]) from error
