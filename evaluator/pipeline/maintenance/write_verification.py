"""Write what a verification found: wall-clock limits of tasks, orders of variants, and records of verified tasks.

A limit and an order may differ between two machines. So both change only for a large difference (see `wall_class` and
`improved_order`). A new order of variants changes no verdict, only where a failing command ends.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from evaluator.errors import UsageError
from evaluator.files import write_whole
from evaluator.json_lines import lines_with_ends
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.maintenance.verified_tasks import read_records, records_path, write_records
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Outcome, Task
from evaluator.suites.expectations import Violation, expectations
from evaluator.suites.load import WALL_FORMAT, Suite, load_suite
from evaluator.suites.measured_fields import improved_order, with_order, with_wall_limits
from evaluator.suites.wall_limits import wall_class


class MeasuredChange(NamedTuple):
    """A measured value that was written to a file. `subject` is the id of the task or the name of the world."""

    path: Path
    subject: str
    message: str


class WrittenVerification(NamedTuple):
    """The measured values that changed, the file of records, and the number of records in it."""

    changes: tuple[MeasuredChange, ...]
    path: Path
    records: int


def check_writable(project: Project, suite: Suite) -> None:
    """Raise an error if the results of a verification cannot be written. Call this before the verification.

    Raises UsageError for a suite of a format without wall-clock limits, and FormatError for records of a newer format.
    """
    if suite.manifest.format < WALL_FORMAT:
        path, found = suite.folder / "suite.toml", suite.manifest.format
        raise UsageError(f"{path}: format: expected {WALL_FORMAT} or higher, which has wall_s of a task, found {found}")
    read_records(project, suite)


def write_verification(
    project: Project,
    suite: Suite,
    progress: Progress,
    verified: Collection[str],
    violations: Sequence[Violation],
    *,
    workers: int | None = None,
) -> WrittenVerification:
    """Write the results of a verification of the tasks `verified`, and return what was written.

    Tasks with a violation get no new limit, and lose their record. A world gets a new order of variants only if all its
    tasks were verified. To choose the order, the wrong commands are executed in every variant.
    """
    failing = {violation.task for violation in violations}
    holding = [task for task in suite.tasks if task.id in verified and task.id not in failing]
    slowest = slowest_references(project, suite, holding, progress)
    limits = {task.id: wall_class(slowest[task.id], task.wall_s) for task in holding if task.id in slowest}
    partly = {task.world for task in suite.tasks if task.id not in verified}
    complete = [task for task in suite.tasks if task.world not in partly]
    failures = failures_by_variant(project, suite, complete, progress, workers)
    changes = (*_write_limits(suite, limits), *_write_orders(suite, failures))
    written = load_suite(suite.folder)
    records = write_records(project, written, [task.id for task in holding], failing)
    return WrittenVerification(changes, records_path(suite), records)


def slowest_references(project: Project, suite: Suite, tasks: Sequence[Task], progress: Progress) -> dict[str, float]:
    """Return the wall time of each task's slowest reference in milliseconds, over all variants and both runs.

    Uses the stored evidence, and executes nothing.
    """
    if not tasks:
        return {}
    with open_grader(project, suite, progress, execute=False, adjudicated=False) as grader:
        grader.load_cached(GradingItem(task.id, command) for task in tasks for command in task.references)
        times = {
            task.id: [
                run.wall_ms
                for command in task.references
                for trial in grader.trials(task.id, command).values()
                for run in (trial.first, trial.again)
                if run is not None
            ]
            for task in tasks
        }
    return {task: max(measured) for task, measured in times.items() if measured}


def failures_by_variant(
    project: Project, suite: Suite, tasks: Sequence[Task], progress: Progress, workers: int | None
) -> dict[str, Counter[str]]:
    """Return, for each world of the tasks and each variant, the number of wrong commands that fail in this variant.

    The wrong commands are near misses and commands that do nothing. Each is judged in each variant alone. A world is
    left out if our machinery failed in it.
    """
    failures: dict[str, Counter[str]] = defaultdict(Counter)
    uncounted: set[str] = set()
    variants = {task.id: suite.variants(task) for task in tasks if len(suite.variants(task)) > 1}
    for position in range(max(map(len, variants.values()), default=0)):
        alone = {name: names[position] for name, names in variants.items() if position < len(names)}
        narrow = replace(
            suite,
            tasks=tuple(
                task.model_copy(update={"variants": (alone[task.id],)}) for task in suite.tasks if task.id in alone
            ),
        )
        items = [
            GradingItem(task.id, check.command)
            for task in narrow.tasks
            for check in expectations(task)
            if not check.must_pass
        ]
        with open_grader(project, narrow, progress, workers=workers, adjudicated=False) as grader:
            findings = grader.grade(items)
        for item, finding in findings.items():
            world = suite.task(item.task).world
            failures[world][alone[item.task]] += finding.outcome in (Outcome.FAIL, Outcome.TIMEOUT)
            if finding.outcome is Outcome.INFRA_ERROR:
                uncounted.add(world)
    return {world: counts for world, counts in failures.items() if world not in uncounted}


def _write_limits(suite: Suite, limits: Mapping[str, int]) -> list[MeasuredChange]:
    changes = []
    for path in sorted((suite.folder / "tasks").rglob("*.jsonl")):
        data = path.read_bytes()
        edited = with_wall_limits(data, limits)
        if edited == data:
            continue
        write_whole(path, edited)
        for line, old in zip(lines_with_ends(edited), lines_with_ends(data), strict=True):
            if line != old:
                task = Task.model_validate_json(line)
                before = suite.task(task.id).wall_s
                changes.append(MeasuredChange(path, task.id, f"wall_s: {before or 'none'} to {task.wall_s}"))
    return changes


def _write_orders(suite: Suite, failures: Mapping[str, Mapping[str, int]]) -> list[MeasuredChange]:
    changes = []
    for name, counts in failures.items():
        path = suite.folder / "worlds" / name / "world.toml"
        order = improved_order(suite.worlds[name].manifest, counts)
        if order:
            write_whole(path, with_order(path.read_text("utf-8"), order).encode())
            shares = ", ".join(f"{variant} {counts.get(variant, 0)}" for variant in order)
            changes.append(MeasuredChange(path, name, f"order of variants by the wrong commands that fail: {shares}"))
    return changes
