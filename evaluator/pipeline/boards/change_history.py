"""Find the newest changes of all boards in the Git history of the verdict files and the suites.

A row changes with its verdict file `submissions/<slug>/<suite>.verdicts.jsonl`: a new file adds a row, a removed file
removes it, and another file gives it another score, or the same one again. The score of a row follows from the verdict
file and the answers at the same commit. So no change depends on what is in the checkout today, and a change stays as it
is. Files of the history are read as data.

The changes up to a commit are kept in a file. Later only the commits after this one are read.
"""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from evaluator.errors import MissingError
from evaluator.files import write_whole
from evaluator.pipeline.git import GitObjects, first_parent_log, git_objects, run_git
from evaluator.pipeline.grading.verdict_files import MAX_BYTES
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.origins import first_commits
from evaluator.records import (
    SLUG_PATTERN,
    BoardChange,
    BoardChangeKind,
    ChangeHistory,
    Extraction,
    Outcome,
    RowScore,
    command_digest,
)
from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.names import MANIFEST_NAME, PREDICTIONS, VERDICTS
from evaluator.submissions.predictions import check_predictions
from evaluator.submissions.problems import ProblemCollector

MAX_CHANGES: Final = 200
"""Number of changes that the site shows."""

MAX_COMPARED: Final = 500
"""Number of rows of one commit whose scores before and after are computed. The other rows count as judged again."""

_MAX_COMMITS: Final = 2_000
_REGULAR: Final = ("100644", "100755")
_SLUG: Final = SLUG_PATTERN.strip("^$")
_VERDICTS: Final = re.compile(rf"submissions/({_SLUG})/({_SLUG}){re.escape(VERDICTS)}".encode())
_SUITE: Final = re.compile(rf"fixtures/({_SLUG})/suite\.toml".encode())
_PATHS: Final = (f":(glob)submissions/*/*{VERDICTS}", ":(glob)fixtures/*/suite.toml")


class _FileChange(NamedTuple):
    """A changed file of a commit: its path, and its content's digest before and after, each None without a file."""

    path: bytes
    before: str | None
    after: str | None


class _CommitChanges(NamedTuple):
    commit: str
    time: datetime
    files: list[_FileChange]


class _Verdicts(NamedTuple):
    """The header of a verdict file, and the outcome of each pair of task and command digest."""

    header: Mapping[str, Any]
    outcomes: Mapping[tuple[str, str], str]


class _Committed:
    """Reads committed files. The latest verdict files stay parsed, because several steps ask for the same one."""

    def __init__(self, objects: GitObjects) -> None:
        self._objects = objects
        self.verdicts = functools.lru_cache(maxsize=4)(self._verdicts)

    def blob(self, name: str, most: int) -> bytes | None:
        """Return the content of a committed file, or None if there is none or if it has more than `most` bytes."""
        return self._objects.blob(name, most)

    def table(self, name: str | None) -> Mapping[str, Any]:
        """Return the table of a TOML file, or nothing if there is no such file or if it is not valid."""
        data = self.blob(name, SubmissionLimits().manifest_bytes) if name else None
        try:
            return tomllib.loads((data or b"").decode())
        except (ValueError, RecursionError):
            return {}

    def _verdicts(self, blob: str) -> _Verdicts:
        """Return what counts of a verdict file. A line that is not one of a verdict file is left out."""
        lines = (self.blob(blob, MAX_BYTES) or b"").split(b"\n")
        values = [value for line in lines if line and isinstance(value := _json(line), dict)]
        outcomes = {}
        for value in values[1:]:
            finding = value.get("finding")
            outcome = finding.get("outcome") if isinstance(finding, dict) else None
            task, command = value.get("task"), value.get("command")
            if isinstance(task, str) and isinstance(command, str) and isinstance(outcome, str):
                outcomes[task, command] = outcome
        return _Verdicts(values[0] if values else {}, outcomes)


def change_history(project: Project, cache: Path | None = None) -> ChangeHistory | None:
    """Return the newest changes of all boards until the commit that is checked out. Return None without Git.

    `cache` is a file with the changes until an earlier commit. It is read if it fits, and written anew. The first
    commits of a shallow clone are left out, because they seem to add every file.
    """
    try:
        head = (run_git(project.root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}") or b"").decode().strip()
        if not head:
            return None
        first = first_commits(project)
        kept = _kept(project, cache, complete=not first)
        if kept is not None and kept.commit == head:
            return kept
        with git_objects(project.root) as objects:
            fresh = _changes(project, _Committed(objects), f"{kept.commit}..{head}" if kept else head, first)
            newest = tuple(islice(fresh, MAX_CHANGES))
    except MissingError:
        return None
    changes = (*newest, *(kept.changes if kept else ()))[:MAX_CHANGES]
    history = ChangeHistory(format=1, commit=head, complete=not first, changes=changes)
    if cache is not None:
        cache.parent.mkdir(parents=True, exist_ok=True)
        write_whole(cache, history.model_dump_json().encode())
    return history


def _kept(project: Project, cache: Path | None, *, complete: bool) -> ChangeHistory | None:
    """Return the kept changes, or None if they are of another branch, or of a clone that was shallow then."""
    try:
        kept = ChangeHistory.model_validate_json(cache.read_bytes()) if cache else None
    except (OSError, ValidationError):
        return None
    if kept is None or kept.complete != complete:
        return None
    commits = run_git(project.root, "rev-list", "--first-parent", "HEAD") or b""
    return kept if kept.commit.encode() in commits.split() else None


def _changes(project: Project, committed: _Committed, commits: str, first: frozenset[str]) -> Iterator[BoardChange]:
    for each in _log(project, commits):
        if each.commit not in first:
            yield from _of_commit(committed, each)


def _log(project: Project, commits: str) -> Iterator[_CommitChanges]:
    """Yield the commits of the first-parent history that changed a verdict file or a suite, the latest first."""
    options = (f"--max-count={_MAX_COMMITS}", "--no-renames", "--raw", "--no-abbrev", "--relative")
    for each in first_parent_log(project.root, *options, paths=_PATHS, commits=commits):
        pairs = zip(each.entries[::2], each.entries[1::2], strict=True)
        yield _CommitChanges(each.commit, each.time, [_file_change(line, path) for line, path in pairs])


def _file_change(line: bytes, path: bytes) -> _FileChange:
    """Return the change that a line of `git log --raw` describes: modes, digests and a letter."""
    mode, new_mode, blob, new_blob = line.decode("ascii").lstrip(":").split()[:4]
    return _FileChange(path, blob if mode in _REGULAR else None, new_blob if new_mode in _REGULAR else None)


def _of_commit(committed: _Committed, commit: _CommitChanges) -> Iterator[BoardChange]:
    """Yield the changes of one commit: versions of suites first, then rows by slug, then rows judged again."""
    again: Counter[str] = Counter()
    versions: dict[str, tuple[tuple[str, str], ...]] = {}
    for file in sorted(commit.files):
        if match := _SUITE.fullmatch(file.path):
            yield from _version(committed, commit, file, match[1].decode())
    for number, file in enumerate(sorted(commit.files)):
        match = _VERDICTS.fullmatch(file.path)
        if match is None:
            continue
        slug, suite = (part.decode() for part in match.groups())
        change = _row(committed, commit, file, slug, suite) if number < MAX_COMPARED else None
        if change is not None:
            yield change
        elif file.before and file.after:
            again[suite] += 1
            if suite not in versions:
                versions[suite] = _replaced(committed, file)
    for suite, rows in sorted(again.items()):
        yield BoardChange(
            kind=BoardChangeKind.RESCORED,
            suite=suite,
            commit=commit.commit,
            time=commit.time,
            rows=rows,
            versions=versions[suite],
        )


def _version(committed: _Committed, commit: _CommitChanges, file: _FileChange, suite: str) -> Iterator[BoardChange]:
    before, after = (_text_of(committed.table(blob), "version") for blob in (file.before, file.after))
    if after is not None and before != after:
        versions = (((before or "")[:100], after[:100]),)
        yield BoardChange(
            kind=BoardChangeKind.VERSION, suite=suite, commit=commit.commit, time=commit.time, versions=versions
        )


def _row(committed: _Committed, commit: _CommitChanges, file: _FileChange, slug: str, suite: str) -> BoardChange | None:
    """Return the change of a row, or None if its score stays the same."""
    now, before = commit.commit, f"{commit.commit}^1"
    scores = (
        _score(committed, file.before, before, slug, suite) if file.before else None,
        _score(committed, file.after, now, slug, suite) if file.after else None,
    )
    if scores[0] == scores[1]:
        return None
    kind = (
        BoardChangeKind.ADDED
        if scores[0] is None
        else BoardChangeKind.REMOVED
        if scores[1] is None
        else BoardChangeKind.MOVED
    )
    manifest = committed.table(f"{now if file.after else before}:./submissions/{slug}/{MANIFEST_NAME}")
    return BoardChange(
        kind=kind,
        suite=suite,
        commit=now,
        time=commit.time,
        submission=slug,
        system=(_text_of(manifest, "system") or slug)[:200],
        before=scores[0],
        after=scores[1],
        versions=_replaced(committed, file) if kind is BoardChangeKind.MOVED else (),
    )


def _score(committed: _Committed, blob: str, commit: str, slug: str, suite: str) -> RowScore:
    """Return the score of a submission's first candidates at a commit. `blob` is its verdict file there."""
    outcomes = committed.verdicts(blob).outcomes
    folder = f"{commit}:./submissions/{slug}"
    limits = SubmissionLimits()
    data = committed.blob(f"{folder}/{suite}{PREDICTIONS}", limits.file_bytes) or b""
    extraction = _text_of(committed.table(f"{folder}/{MANIFEST_NAME}"), "extraction") or Extraction.NONE.value
    report = ProblemCollector(Path(slug), limits.problems, warns=False)
    known = extraction if extraction in list(Extraction) else Extraction.NONE.value
    predictions = check_predictions(data, report, limits, None, None, Extraction(known))
    tasks = {task for task, _ in outcomes}
    first = {task: given.candidates[0].command for task, given in predictions.items() if given.candidates}
    passed = sum(outcomes.get((task, command_digest(first.get(task, b"")))) == Outcome.PASS.value for task in tasks)
    return RowScore(passed=passed, asked=len(tasks))


def _replaced(committed: _Committed, file: _FileChange) -> tuple[tuple[str, str], ...]:
    """Return the versions of the judge and of the suite that a verdict file replaced by others."""
    headers = [committed.verdicts(blob).header if blob else {} for blob in (file.before, file.after)]
    judges = [f"{header.get('judge')} {header.get('judge_version')}"[:100] for header in headers]
    suites = [f"{header.get('suite')} {header.get('suite_version')}"[:100] for header in headers]
    return tuple((before, after) for before, after in (judges, suites) if before != after)


def _json(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _text_of(table: Mapping[str, Any], field: str) -> str | None:
    value = table.get(field)
    return value if isinstance(value, str) else None


def history_cache(project: Project) -> Path:
    """Return the path of the file that keeps the changes between builds."""
    return project.root / ".bashboard" / "site" / "changes.json"
