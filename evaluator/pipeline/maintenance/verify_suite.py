"""Verification of a suite: execute and judge the commands that `suites.expectations` names, and report violations."""

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
    """Return the violations of these tasks, or of all, in task order."""
    chosen = [suite.task(name) for name in tasks] or list(suite.tasks)
    asked = [each for task in chosen for each in expectations(task)]
    with open_grader(project, suite, progress, workers=workers, adjudicated=False) as grader:
        subjects = [GradingItem(each.task.id, each.command, each.without) for each in asked]
        grader.ensure_evidence(subjects)
        findings = grader.grade(subjects)
        found = list(violations({each: findings[subject] for each, subject in zip(asked, subjects, strict=True)}))
        for task in chosen:
            found += _volatile(task, grader)
            found += _unaligned(task, grader)
    order = {task.id: number for number, task in enumerate(suite.tasks)}
    return sorted(found, key=lambda each: order[each.task])


def _volatile(task: Task, grader: Grader) -> Iterator[Violation]:
    if task.volatile is not None:
        return
    for command in task.references:
        for variant, trial in grader.trials(task.id, command).items():
            fields = volatile_fields(trial, task)
            if fields:
                yield volatile_violation(task, command, variant, fields)


def _unaligned(task: Task, grader: Grader) -> Iterator[Violation]:
    case = grader.case(GradingItem(task.id, None))
    problem = alignment_problem(case)
    if problem is not None:
        yield Violation(task=task.id, role="alignment", command="", variant=None, place=None, reason=problem)
