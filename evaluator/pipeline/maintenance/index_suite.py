"""Make the list of files and the index of an external suite, from its declared source.

A maintainer runs this module after a change of an importer, or of the declared source. The references are executed, and
the results are files that the repository holds: `fixtures/external/<name>.sha256` and `.tasks.jsonl`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evaluator.files import write_whole
from evaluator.pipeline.maintenance.audit_suite import audit_references, variant_counts
from evaluator.pipeline.maintenance.import_suite import (
    declared_suite,
    draft_suite,
    indexed_task,
    install_suite,
    suite_locked,
)
from evaluator.pipeline.maintenance.select_variants import order_suite, select_variants
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import IndexedTask, Task, json_lines
from evaluator.suites.audit_report import FAILS, NEEDS_NETWORK, NOT_FOUND, SHOWS_NOTHING, AuditNote
from evaluator.suites.declarations import declaration_path, files_path, index_path, read_index
from evaluator.suites.file_lists import list_digest, list_text
from evaluator.suites.importers import INPUTS, write_draft
from evaluator.suites.importers.draft import Draft
from evaluator.suites.importers.external_source import open_source
from evaluator.suites.importers.source_files import SourceFile, list_files, select_files
from evaluator.suites.load import load_written_suite

KINDS: Final = (FAILS, NOT_FOUND, SHOWS_NOTHING, NEEDS_NETWORK)
"""The defects of a reference, in the order of their counts."""


def reference_summary(notes: Sequence[AuditNote]) -> dict[str, list[str]]:
    """Return the references with each kind of defect, such as a failure. A reference has the form `task/number`."""
    return {
        kind: [f"{note.place}/{note.reference}" for note in notes if note.kind == kind and note.reference]
        for kind in KINDS
    }


def index_lines(tasks: Iterable[Task], left_out: Mapping[str, str] | None = None) -> list[IndexedTask]:
    """Return the index of a suite's tasks. `left_out` maps the names of tasks that leave the suite to reasons."""
    reasons = left_out or {}
    return [
        IndexedTask(
            task=task.id,
            digest=task.digest,
            output=task.output,
            variants=task.variants,
            left_out=reasons.get(task.id),
        )
        for task in tasks
    ]


def index_suite(
    project: Project,
    name: str,
    source: str | None,
    progress: Progress,
    *,
    execute: bool = True,
    workers: int | None = None,
) -> dict[str, Any]:
    """Make the files of an external suite's declaration again, import the suite, and return a summary.

    If `execute` is set, the references are executed, which needs an engine. Otherwise the tasks keep the results of the
    present index. All files of the checkout change only at the end.
    """
    declared = declared_suite(project, name)
    with suite_locked(project, name, progress), tempfile.TemporaryDirectory() as folder:
        tree = open_source(declared, source, Path(folder), progress.say)
        files = select_files(tree, INPUTS[name])
        draft = draft_suite(project, declared, files)
        notes = list[AuditNote]()
        if execute:
            tasks, notes = _executed_tasks(project, draft, progress, workers, audit=declared.sound_references)
            lines = index_lines(tasks, unsound_tasks(notes))
        else:
            lines = _kept_lines(project, draft)
        write_declaration(project, name, files, lines)
        imported = install_suite(project, draft)
    return {
        "files": len(files),
        "tasks": len(imported.suite.tasks),
        "variants": variant_counts(imported.suite),
        "left_out": dict(imported.left_out),
        "found": reference_summary(notes) if execute and declared.sound_references else {},
    }


def _executed_tasks(
    project: Project, draft: Draft, progress: Progress, workers: int | None, *, audit: bool
) -> tuple[list[Task], list[AuditNote]]:
    """Execute the references of a drafted suite. Return the tasks with the results and, if `audit` is set, notes."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "overrides").symlink_to((project.fixtures / "overrides").absolute())
        suite = load_written_suite(write_draft(draft, Path(folder)))
        suite = select_variants(project, suite, progress, workers=workers)
        suite = order_suite(project, suite, progress, workers=workers)
        notes = audit_references(project, suite, progress, workers=workers) if audit else []
    executed = {task.id: task for task in suite.tasks}
    return [executed[task.id] for task in draft.tasks], notes


def _kept_lines(project: Project, draft: Draft) -> list[IndexedTask]:
    """Return the index of a draft with the variants, comparisons and reasons of the present index."""
    lines = {line.task: line for line in read_index(project.fixtures, draft.manifest.name)}
    tasks = [indexed_task(task, lines[task.id]) if task.id in lines else task for task in draft.tasks]
    return index_lines(tasks, {line.task: line.left_out for line in lines.values() if line.left_out is not None})


def unsound_tasks(notes: Sequence[AuditNote]) -> dict[str, str]:
    """Map each task with a defective reference to a reason. Of several defects, the first of `KINDS` is the reason."""
    found = [note for note in notes if note.kind in KINDS and note.reference is not None]
    found.sort(key=lambda note: KINDS.index(note.kind), reverse=True)
    return {note.place: f"a reference {note.kind}" for note in found}


def write_declaration(
    project: Project, name: str, files: Mapping[str, SourceFile], index: Iterable[IndexedTask]
) -> None:
    """Write a suite's list of files and its index, and set the digest in the suite's declaration."""
    digests = list_files(files)
    write_whole(files_path(project.fixtures, name), list_text(digests).encode())
    write_whole(index_path(project.fixtures, name), json_lines(index).encode())
    path = declaration_path(project.fixtures, name)
    text = re.sub(r"(?m)^digest\s*=.*$", f'digest = "{list_digest(digests)}"', path.read_text("utf-8"), count=1)
    write_whole(path, text.encode())
