"""Import external suites: fetch exactly the declared files, convert them, and apply the committed index.

The index holds what only an execution of the references can find out: the variants of each task, and the comparison of
its output. So an import executes nothing, and makes the same suite on every machine.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evaluator.errors import BashboardError, FormatError, InfraError, Problem, UsageError
from evaluator.pipeline.maintenance.audit_suite import variant_counts
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import ExternalSuite, GitSource, IndexedTask, SuiteSource, Task
from evaluator.shell import utilities_of
from evaluator.suites.declarations import MARK, import_mark, index_path, other_file_lists, read_file_list, read_index
from evaluator.suites.importers import IMPORTERS, INPUTS, write_draft
from evaluator.suites.importers.draft import Draft, remove_leftovers
from evaluator.suites.importers.expected_changes import with_expected_changes
from evaluator.suites.importers.external_source import open_source, read_declared_files
from evaluator.suites.importers.source_files import SourceFile, write_files
from evaluator.suites.load import Suite, load_suite
from evaluator.wording import name_hint

_MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class ImportedSuite:
    """An imported suite. `left_out` maps each reason to the number of omitted entries of the original suite."""

    suite: Suite
    left_out: Mapping[str, int]


def add_suite(project: Project, name: str, source: str | Path | None, progress: Progress) -> ImportedSuite:
    """Import the external suite `name` into the checkout's fixtures.

    `source` is a path or an address of a copy. By default, the declared source is fetched. Raises UsageError for an
    unknown name or an unreadable copy. Raises FormatError if the copy or the imported suite differs from the
    declaration. Raises MissingError if no source answers.
    """
    declared = declared_suite(project, name)
    expected = read_file_list(project.fixtures, declared)
    lists = other_file_lists(project.fixtures, project.external_suites().values()) | {name: expected}
    with suite_locked(project, name, progress), tempfile.TemporaryDirectory() as folder:
        tree = open_source(declared, None if source is None else str(source), Path(folder), progress.say)
        files = read_declared_files(declared, tree, lists, INPUTS)
        progress.say(f"reading {name}")
        return install_suite(project, draft_suite(project, declared, files))


def install_suite(project: Project, draft: Draft) -> ImportedSuite:
    """Write a drafted suite to its folder, as the committed index describes the suite.

    Raises FormatError if the draft differs from the index, and InfraError if the disk is full. Then the folder does not
    change.
    """
    name, fixtures = draft.manifest.name, project.fixtures
    indexed = indexed_draft(draft, read_index(fixtures, name), index_path(fixtures, name))
    marks = {MARK: f"{import_mark(fixtures, project.external_suites()[name])}\n"}
    try:
        return ImportedSuite(load_suite(write_draft(indexed, fixtures, marks)), indexed.left_out)
    except OSError as error:
        raise InfraError(f"{fixtures / name} cannot be written: {error.strerror}") from error


def declared_suite(project: Project, name: str) -> ExternalSuite:
    """Return the declaration of an external suite. Raises UsageError with all names if there is no such suite."""
    declared = project.external_suites()
    if name not in declared:
        raise UsageError(f"no external suite is named {name!r}{name_hint(name, declared, 'bashboard suite list')}")
    if name not in IMPORTERS:
        raise UsageError(f"no importer reads {name}; there are importers for: {', '.join(IMPORTERS)}")
    return declared[name]


@contextlib.contextmanager
def suite_locked(project: Project, name: str, progress: Progress) -> Iterator[None]:
    """Let one import of a suite run at a time in this checkout. A second import waits for the end of the first.

    Files that a killed import left beside the suite are removed.
    """
    path = project.root / ".bashboard" / f"{name}.import.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say(f"waiting for another import of {name} to end")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        remove_leftovers(project.fixtures, name)
        yield
    finally:
        os.close(descriptor)


def draft_suite(project: Project, declared: ExternalSuite, files: Mapping[str, SourceFile]) -> Draft:
    """Return the draft of a suite from its files, with the declared version, title and source."""
    overrides = project.fixtures / "overrides" / declared.name
    with tempfile.TemporaryDirectory() as folder:
        write_files(files, Path(folder))
        try:
            draft = with_expected_changes(IMPORTERS[declared.name](utilities_of, Path(folder)), overrides)
        except ValueError as error:  # undecodable text, or invalid values of a task
            raise UsageError(f"the files are not a valid copy of {declared.name}: {error}") from error
    first = declared.sources[0]
    version = first.commit[:12] if isinstance(first, GitSource) else f"{first.package} {first.version}"
    source = SuiteSource(name=declared.title, version=version, licence=declared.licence, digest=declared.digest)
    fields = {
        "source": source,
        "title": declared.title,
        "version": declared.version,
        "earlier_versions": declared.earlier_versions,
    }
    return replace(draft, manifest=draft.manifest.model_copy(update=fields))


def indexed_draft(draft: Draft, index: tuple[IndexedTask, ...], path: Path) -> Draft:
    """Return a draft with the index applied: the variants and the comparison of each task, without left-out tasks.

    Raises FormatError if the draft has other tasks than the index at `path`.
    """
    drafted = {task.id: task for task in draft.tasks}
    lines = {line.task: line for line in index}
    tasks = {name: indexed_task(drafted[name], line) for name, line in lines.items() if name in drafted}
    differences = {
        "missing": [name for name in lines if name not in drafted],
        "not in the index": [name for name in drafted if name not in lines],
        "changed": [name for name, task in tasks.items() if task.digest != lines[name].digest],
    }
    found = [f"{kind}: {_listed(names)}" for kind, names in differences.items() if names]
    if found:
        hint = f"make the index again with: bashboard suite index {draft.manifest.name}"
        message = f"the imported tasks differ from the index; {'; '.join(found)}; if the importer changed, {hint}"
        raise FormatError([Problem(path, 0, message)])
    kept = [tasks[name] for name in drafted if lines[name].left_out is None]
    left_out = Counter(draft.left_out) + Counter(line.left_out for line in index if line.left_out is not None)
    about = re.sub(rf"^{len(draft.tasks)}\b", str(len(kept)), draft.manifest.description)
    manifest = draft.manifest.model_copy(update={"description": about})
    return replace(draft, manifest=manifest, tasks=kept, left_out=left_out)


def indexed_task(task: Task, line: IndexedTask) -> Task:
    """Return a drafted task with the variants and the comparison of its line in the index."""
    return task.model_copy(update={"variants": line.variants, "output": line.output})


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def add_report(project: Project, name: str, source: str | None, progress: Progress) -> dict[str, Any]:
    """Import a suite, and return a summary with its size and with the number of entries that were left out."""
    replaces = (project.fixtures / name).exists()
    imported = add_suite(project, name, source, progress)
    suite = imported.suite
    return {
        "replaces": replaces,
        "variants": variant_counts(suite),
        "folder": str(suite.folder.relative_to(project.root)),
        "version": suite.manifest.version,
        "tasks": len(suite.tasks),
        "references": sum(len(task.references) for task in suite.tasks),
        "worlds": len(suite.worlds),
        "left_out": dict(imported.left_out),
    }


def add_missing(project: Project, names: list[str], progress: Progress) -> tuple[list[str], dict[str, str]]:
    """Import the named external suites that are not on this machine.

    Return the imported suites, and the reason for each suite that could not be imported. One failure does not stop the
    import of the other suites.
    """
    added, failures = list[str](), dict[str, str]()
    for name in names:
        if project.is_fetched(name):
            continue
        try:
            add_suite(project, name, None, progress)
        except BashboardError as error:
            failures[name] = str(error)
        else:
            added.append(name)
    return added, failures
