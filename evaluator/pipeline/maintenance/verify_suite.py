"""Verify a suite: execute and judge its commands, and report violated expectations, such as a failing reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evaluator.judges import alignment_problem, volatile_fields
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Outcome, Task
from evaluator.suites.expectations import (
    Expectation,
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

    The tasks also run in `fresh` variants with other seeds and clocks, the same ones in each call. A near miss that
    fails in its world's richest variant is not executed in the others.
    """
    for number in range(1, fresh + 1):
        suite = with_fresh_variants(suite, f"verify {number}", f"{FRESH}-{number}")
    selected = [suite.task(name) for name in tasks] or list(suite.tasks)
    checks = [check for task in selected for check in expectations(task)]
    failed = _fail_in_one_variant(project, suite, progress, [check for check in checks if check.is_near_miss], workers)
    checks = [check for check in checks if check not in failed]
    with open_grader(project, suite, progress, workers=workers, adjudicated=False) as grader:
        items = [GradingItem(check.task.id, check.command, check.without) for check in checks]
        grader.ensure_evidence(items)
        findings = grader.grade(items)
        problems = list(violations({check: findings[item] for check, item in zip(checks, items, strict=True)}))
        for task in selected:
            problems += _volatile(task, grader)
            problems += _slow(task, grader, suite.manifest.limits.cpu_s)
            reason = alignment_problem(grader.case(GradingItem(task.id, None)))
            if reason is not None:
                problems.append(
                    Violation(task=task.id, role="alignment", command="", variant=None, place=None, reason=reason)
                )
    order = {task.id: number for number, task in enumerate(suite.tasks)}
    return sorted(problems, key=lambda problem: order[problem.task])


def _fail_in_one_variant(
    project: Project, suite: Suite, progress: Progress, checks: Sequence[Expectation], workers: int | None
) -> set[Expectation]:
    """Return the near misses that fail in the variant whose shape fresh variants have, the richest one of a world.

    One variant in which a command fails decides its verdict. Worlds without fresh variants are left out.
    """
    richest = {name: world.manifest.fresh for name, world in suite.worlds.items()}
    narrow = replace(suite, tasks=tuple(_only_in(task, richest[task.world]) for task in suite.tasks))
    items = {
        check: GradingItem(check.task.id, check.command)
        for check in checks
        if richest[check.task.world] in suite.variants(check.task)
    }
    if not items:
        return set()
    with open_grader(project, narrow, progress, workers=workers, adjudicated=False) as grader:
        findings = grader.grade(items.values())
    return {check for check, item in items.items() if findings[item].outcome is Outcome.FAIL}


def _only_in(task: Task, variant: str | None) -> Task:
    return task if variant is None else task.model_copy(update={"variants": (variant,)})


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
