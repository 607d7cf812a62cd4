"""Add a foreign suite to a checkout: read it, write it in our formats, and look at what it is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.errors import MissingError, UsageError
from evaluator.pipeline.grading.cache_keys import Subject
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.maintenance.audit_suite import audit_suite, variant_counts
from evaluator.pipeline.project import Project
from evaluator.pipeline.upkeep.holding import hold_suite, rewrite_tasks
from evaluator.progress import Progress
from evaluator.records import OutputMode, Task
from evaluator.shell import utilities_of
from evaluator.suites.audit_report import FAILS, NEEDS_NETWORK, NOT_FOUND, SHOWS_NOTHING, AuditNote, has_order
from evaluator.suites.importers import IMPORTERS, write_draft
from evaluator.suites.load import Suite, load_suite


@dataclass(frozen=True, slots=True)
class Added:
    """A foreign suite as it was written, and how many entries were left out for which reason."""

    suite: Suite
    left_out: Mapping[str, int]


def add_suite(project: Project, name: str, path: Path | None, progress: Progress) -> Added:
    """Write the foreign suite `name` below the checkout's fixtures, from `path` where its format needs one.

    Raises UsageError for an unknown name or a tree that is not what it should be, FormatError with every place,
    MissingError where something cannot be fetched.
    """
    if name not in IMPORTERS:
        raise UsageError(f"no foreign suite is named {name!r}; there are: {', '.join(IMPORTERS)}")
    if path is not None and not path.exists():
        raise UsageError(f"{path} is not there: expected what {name} is read from")
    progress.say(f"reading {name}")
    try:
        draft = IMPORTERS[name](utilities_of, path)
    except ValueError as error:  # bytes that are no text, or values that no task can have
        raise UsageError(f"{path or name} does not read as {name}: {error}") from error
    folder = write_draft(draft, project.root / "fixtures")
    return Added(load_suite(folder), draft.left_out)


def order_suite(project: Project, added: Suite, progress: Progress, *, workers: int | None = None) -> Suite:
    """The suite with those tasks compared line by line whose references, executed, show one order that is asked for.

    Written anew where there are any. What a task compares is no part of its evidence: nothing is executed twice.
    """
    with open_grader(project, added, progress, workers=workers, adjudicated=False) as grader:
        grader.gather(Subject(task.id, command) for task in added.tasks for command in task.references)
        ordered = {task.id for task in added.tasks if has_order(task, _outputs(task, grader))}
    changed = (task for task in added.tasks if task.id in ordered)
    return rewrite_tasks(added, (task.model_copy(update={"output": OutputMode.LINES}) for task in changed))


def _outputs(task: Task, grader: Grader) -> dict[str, list[bytes]]:
    """What every reference prints, by variant; nothing where one has no evidence."""
    if any(grader.failure(task.id, command) for command in task.references):
        return {}
    outputs: dict[str, list[bytes]] = {}
    for command in task.references:
        for variant, trial in grader.trials(task.id, command).items():
            outputs.setdefault(variant, []).append(trial.first.stdout.data.rstrip(b"\n") + b"\n")
    return outputs


def reference_summary(notes: Sequence[AuditNote]) -> dict[str, list[str]]:
    """The references, as `task/number`, that fail, show nothing, or need the network."""
    return {
        kind: [f"{note.place}/{note.reference}" for note in notes if note.kind == kind and note.reference]
        for kind in (FAILS, NOT_FOUND, SHOWS_NOTHING, NEEDS_NETWORK)
    }


def add_and_look(
    project: Project,
    name: str,
    path: Path | None,
    progress: Progress,
    *,
    execute: bool = True,
    workers: int | None = None,
) -> dict[str, Any]:
    """Add a suite: its size and what was left out; with `execute`, which references do not hold.

    Where this machine cannot execute, the suite is there all the same, and `not_executed` says why.
    """
    replaces = (project.root / "fixtures" / name).exists()
    added = add_suite(project, name, path, progress)
    suite, found, why = added.suite, dict[str, list[str]](), None if execute else "--no-execute"
    if execute:
        try:
            suite = hold_suite(project, suite, progress, workers=workers)
            suite = order_suite(project, suite, progress, workers=workers)
            found = reference_summary(audit_suite(project, suite, progress, workers=workers))
        except MissingError as error:
            why = str(error)
    return {
        "replaces": replaces,
        "not_executed": why,
        "variants": variant_counts(suite),
        "folder": str(suite.folder.relative_to(project.root)),
        "tasks": len(suite.tasks),
        "references": sum(len(task.references) for task in suite.tasks),
        "worlds": len(suite.worlds),
        "left_out": dict(added.left_out),
        "found": found,
    }
