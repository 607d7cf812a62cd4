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
from evaluator.suites.expectations import Violation, expectations, violations, volatile_violation
from evaluator.suites.load import Suite


def verify_suite(
    project: Project, suite: Suite, progress: Progress, *, tasks: Sequence[str] = (), workers: int | None = None
) -> list[Violation]:
    """Return the violated expectations of the named tasks, or of all tasks, in the order of the suite's tasks."""
    selected = [suite.task(name) for name in tasks] or list(suite.tasks)
    checks = [check for task in selected for check in expectations(task)]
    with open_grader(project, suite, progress, workers=workers, adjudicated=False) as grader:
        items = [GradingItem(check.task.id, check.command, check.without) for check in checks]
        grader.ensure_evidence(items)
        findings = grader.grade(items)
        problems = list(violations({check: findings[item] for check, item in zip(checks, items, strict=True)}))
        for task in selected:
            problems += _volatile(task, grader)
            reason = alignment_problem(grader.case(GradingItem(task.id, None)))
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
