"""Audit a foreign suite: execute its references and report, by class, what does not hold of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from evaluator.judges import volatile_fields
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Task
from evaluator.shell import utilities_of
from evaluator.suites.audit_report import (
    AuditNote,
    finding_note,
    missing_world_note,
    reference_notes,
    text_notes,
    volatile_note,
    world_notes,
)
from evaluator.suites.expectations import DO_NOTHING
from evaluator.suites.load import Suite


def audit_suite(
    project: Project, suite: Suite, progress: Progress, *, tasks: Sequence[str] = (), workers: int | None = None
) -> list[AuditNote]:
    """Everything that does not hold of the tasks named, or of all: texts, then worlds, then commands by task."""
    chosen = [suite.task(name) for name in tasks] or sorted(suite.tasks, key=lambda task: task.id)
    notes = list(text_notes(chosen))
    with open_grader(project, suite, progress, workers=workers, adjudicated=False) as grader:
        asked = {subject: number for task in chosen for subject, number in _subjects(task)}
        builds = [GradingItem(task.id, _build_again(suite, task)) for task in _one_a_world(chosen)]
        grader.ensure_evidence([*asked, *builds])
        notes += [note for build in builds for note in _world_notes(suite.task(build.task), build, grader)]
        findings = grader.grade(subject for subject in asked if grader.keys.plan_item(subject).references)
        for task in chosen:
            notes += _command_notes(task, grader)
            graded = ((number, findings.get(subject)) for subject, number in _subjects(task))
            found = (finding_note(task, number, finding) for number, finding in graded if finding)
            notes += [note for note in found if note]
    return notes


def _subjects(task: Task) -> Iterator[tuple[GradingItem, int | None]]:
    """The references with their 1-based numbers, each to be judged by the others, and doing nothing.

    Where a verifier decides, no reference is compared with, and one is judged though it is the only one.
    """
    for number, command in enumerate(task.references, 1):
        yield GradingItem(task.id, command, None if task.verify else number - 1), number
    yield GradingItem(task.id, DO_NOTHING[0]), None


def _one_a_world(tasks: Sequence[Task]) -> list[Task]:
    """A task of each world, with nothing but its world before it where there is one.

    Where a task names its variants, its set-up is ours and does nothing in the first.
    """
    own = [task for task in tasks if task.setup is None or task.variants]
    ordered = sorted(own, key=lambda task: task.setup is None)
    return sorted({task.world: task for task in ordered}.values(), key=lambda task: task.world)


def variant_counts(suite: Suite, tasks: Sequence[str] = ()) -> dict[int, int]:
    """How many of the tasks named, or of all, are asked in how many variants, most variants first."""
    chosen = [suite.task(name) for name in tasks] or suite.tasks
    return dict(sorted(Counter(len(suite.variants(task)) for task in chosen).items(), reverse=True))


def _build_again(suite: Suite, task: Task) -> bytes:
    """The build as a command: its complaints are evidence then, and a layer's are lost."""
    world = suite.worlds[task.world]
    first = world.manifest.variants[0]
    return f"export VARIANT={first.name} SEED={first.seed}\n".encode() + world.build


def _world_notes(task: Task, build: GradingItem, grader: Grader) -> Iterator[AuditNote]:
    assert build.command is not None  # noqa: S101 - made by `_build_again`
    if failure := grader.failure(task.id, build.command):
        yield missing_world_note(task.world, str(failure))
        return
    variant, trial = next(iter(grader.trials(task.id, build.command).items()))
    yield from world_notes(task.world, variant, trial.first.stderr.data.decode(errors="replace").splitlines())


def _command_notes(task: Task, grader: Grader) -> Iterator[AuditNote]:
    for number, command in enumerate(task.references, 1):
        if failure := grader.failure(task.id, command):
            yield missing_world_note(task.id, str(failure))
            continue
        trials = grader.trials(task.id, command)
        runs = {name: [trial.first, *([trial.again] if trial.again else [])] for name, trial in trials.items()}
        yield from reference_notes(task, number, runs, utilities_of)
        for variant, trial in trials.items():
            if fields := volatile_fields(trial, task):
                yield volatile_note(task, number, variant, fields)
