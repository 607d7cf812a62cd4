"""Audit an external suite: execute its references and report the suite's defects by class."""

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
    driver_probes,
    finding_note,
    missing_world_note,
    probe_note,
    reference_notes,
    sound_drivers,
    text_notes,
    volatile_note,
    world_notes,
)
from evaluator.suites.expectations import DO_NOTHING
from evaluator.suites.load import Suite


def audit_suite(
    project: Project, suite: Suite, progress: Progress, *, tasks: Sequence[str] = (), workers: int | None = None
) -> list[AuditNote]:
    """Return the defects of the named tasks, or of all tasks. Defects in the tasks' texts come before other defects."""
    selected = [suite.task(name) for name in tasks] or sorted(suite.tasks, key=lambda task: task.id)
    notes = list(text_notes(selected))
    with open_grader(project, suite, progress, workers=workers, adjudicated=False) as grader:
        numbers = {item: number for task in selected for item, number in _judged_items(task)}
        references = [GradingItem(task.id, None) for task in selected]
        builds = [GradingItem(task.id, _build_command(suite, task)) for task in _one_task_per_world(selected)]
        grader.ensure_evidence([*references, *builds])
        notes += [note for build in builds for note in _world_notes(suite.task(build.task), build, grader)]
        findings = grader.grade(item for item in numbers if grader.keys.plan_item(item).references)
        for task in selected:
            notes += _command_notes(task, grader)
            graded = ((number, findings.get(item)) for item, number in _judged_items(task))
            verdict_notes = (finding_note(task, number, finding) for number, finding in graded if finding)
            notes += [note for note in verdict_notes if note]
        notes += _probe_notes(suite, selected, grader)
    return notes


def audit_references(
    project: Project, suite: Suite, progress: Progress, *, workers: int | None = None
) -> list[AuditNote]:
    """Return only the defects that the runs of references show, for all tasks. No command is judged."""
    with open_grader(project, suite, progress, workers=workers, adjudicated=False) as grader:
        grader.ensure_evidence(GradingItem(task.id, command) for task in suite.tasks for command in task.references)
        return [note for task in suite.tasks for note in _command_notes(task, grader)]


def count_sound_drivers(suite: Suite, tasks: Sequence[str], notes: Sequence[AuditNote]) -> tuple[int, int]:
    """Count the audited tasks with a driver that are sound, and all audited tasks with a driver."""
    return sound_drivers([suite.task(name) for name in tasks] or suite.tasks, notes)


def _probe_notes(suite: Suite, selected: Sequence[Task], grader: Grader) -> list[AuditNote]:
    """Return the notes on the wrong scripts that verifiers accept, for the selected tasks with a driver."""
    names = {task.id for task in selected}
    ordered = sorted(suite.tasks, key=lambda task: task.id)
    probes = [probe for probe in driver_probes(ordered) if probe[0].id in names]
    findings = grader.grade(GradingItem(task.id, command) for task, _, command in probes)
    notes = (probe_note(*probe, findings[GradingItem(probe[0].id, probe[2])]) for probe in probes)
    return [note for note in notes if note]


def _judged_items(task: Task) -> Iterator[tuple[GradingItem, int | None]]:
    """Yield the commands to judge for a task: each reference with its number, and a command that does nothing.

    The numbers start at 1. A reference is judged against the other references of its task. It is judged against all
    references only if the task has a verifier (a script that checks the result).
    """
    for number, command in enumerate(task.references, 1):
        yield GradingItem(task.id, command, None if task.verify else number - 1), number
    yield GradingItem(task.id, DO_NOTHING[0]), None


def _one_task_per_world(tasks: Sequence[Task]) -> list[Task]:
    """Return one task for each world of these tasks, to represent the world in the audit.

    Prefer a task without a set-up, then a task that names its variants: such a task has a set-up of this project,
    which does not affect the first variant. A task with a driver cannot show the errors of a build script.
    """
    unchanged = [task for task in tasks if (task.setup is None or task.variants) and task.driver is None]
    ordered = sorted(unchanged, key=lambda task: task.setup is None)
    return sorted({task.world: task for task in ordered}.values(), key=lambda task: task.world)


def variant_counts(suite: Suite, tasks: Sequence[str] = ()) -> dict[int, int]:
    """Count the tasks with each number of variants. The largest number of variants comes first."""
    selected = [suite.task(name) for name in tasks] or suite.tasks
    return dict(sorted(Counter(len(suite.variants(task)) for task in selected).items(), reverse=True))


def _build_command(suite: Suite, task: Task) -> bytes:
    """Return the build script of a task's world as a command. Its evidence then contains the script's errors."""
    world = suite.worlds[task.world]
    first = world.manifest.variants[0]
    return f"export VARIANT={first.name} SEED={first.seed}\n".encode() + world.build


def _world_notes(task: Task, build: GradingItem, grader: Grader) -> Iterator[AuditNote]:
    assert build.command is not None  # noqa: S101 - set by `_build_again`
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
