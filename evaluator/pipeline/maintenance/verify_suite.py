"""Verify a suite: execute and judge its commands, and report violated expectations, such as a failing reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaluator.judges import alignment_problem, volatile_fields
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Task
from evaluator.suites.expectations import (
    Violation,
    expectations,
    slow_violation,
    violations,
    volatile_violation,
)
from evaluator.suites.fresh_variants import FRESH, with_fresh_variants
from evaluator.suites.load import Suite


def verify_suite(
    project: Project,
    suite: Suite,
    progress: Progress,
    *,
    tasks: Sequence[str] = (),
    workers: int | None = None,
    fresh: int = 0,
) -> list[Violation]:
    """Return the violated expectations of the named tasks, or of all tasks, in the order of the suite's tasks.

    The tasks also run in `fresh` variants with other seeds and clocks, the same ones in each call. References run twice
    in every variant, other commands only as far as their verdicts need.
    """
    for number in range(1, fresh + 1):
        suite = with_fresh_variants(suite, f"verify {number}", f"{FRESH}-{number}")
    selected = [suite.task(name) for name in tasks] or list(suite.tasks)
    checks = [check for task in selected for check in expectations(task)]
    with open_grader(project, suite, progress, workers=workers, adjudicated=False) as grader:
        items = [GradingItem(check.task.id, check.command, check.without) for check in checks]
        grader.ensure_evidence(GradingItem(task.id, None) for task in selected)
        findings = grader.grade(items)
        problems = list(violations({check: findings[item] for check, item in zip(checks, items, strict=True)}))
        for task in selected:
            problems += _volatile(task, grader)
            problems += _slow(task, grader, suite.manifest.limits.cpu_s)
            reason = alignment_problem(grader.full_case(GradingItem(task.id, None)))
            if reason is not None:
                problems.append(
                    Violation(task=task.id, role="alignment", command="", variant=None, place=None, reason=reason)
                )
    order = {task.id: number for number, task in enumerate(suite.tasks)}
    return sorted(problems, key=lambda problem: order[problem.task])


def _volatile(task: Task, grader: Grader) -> Iterator[Violation]:
    if task.volatile is not None:
        return
    for command in task.references:
        for variant, trial in grader.trials(task.id, command).items():
            fields = volatile_fields(trial, task)
            if fields:
                yield volatile_violation(task, command, variant, fields)


def _slow(task: Task, grader: Grader, limit_s: float) -> Iterator[Violation]:
    """Yield a violation for each reference above half of the CPU time limit. The faster one of two runs counts."""
    for command in task.references:
        for variant, trial in grader.trials(task.id, command).items():
            cpu_ms = min(run.cpu_ms for run in (trial.first, trial.again) if run is not None)
            if cpu_ms > 500 * limit_s:
                yield slow_violation(task, command, variant, cpu_ms, limit_s)
