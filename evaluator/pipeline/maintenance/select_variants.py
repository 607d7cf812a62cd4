"""Select the variants in which the tasks of an external suite run, and set the comparison of their outputs.

The importer adds new variants to a world. An added variant is useless for a task if the task's references disagree or
fail in the variant. This module compares each reference with the others in all variants kept so far, with and without
the added variant. It keeps the variant only if no reference is judged worse with the variant. Because of this
selection, the verdicts on references cannot show whether an added variant is good.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from evaluator.files import write_whole
from evaluator.judges import Case
from evaluator.judges.case import Executed
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Ending, Evidence, Outcome, OutputMode, Task, json_lines
from evaluator.suites.audit_report import has_order
from evaluator.suites.importers.extra_variants import variants_with_objects
from evaluator.suites.load import Suite, load_written_suite

_RANK: Final = {Outcome.PASS: 0, Outcome.UNDECIDED: 1}
_WORST_RANK: Final = 2


def select_variants(project: Project, suite: Suite, progress: Progress, *, workers: int | None = None) -> Suite:
    """Remove the unusable variants of each task with added variants. Write the changed suite and return it.

    To find the usable variants, the references of these tasks are executed. Other tasks and suites do not change.
    """
    extended = {task.id: task for task in suite.tasks if len(_offered_variants(suite, task)) > 1}
    if not extended:
        return suite
    offered = tuple(
        task.model_copy(update={"variants": _offered_variants(suite, task)}) if task.id in extended else task
        for task in suite.tasks
    )
    with open_grader(project, replace(suite, tasks=offered), progress, workers=workers, adjudicated=False) as grader:
        grader.ensure_evidence(
            GradingItem(task.id, command) for task in extended.values() for command in task.references
        )
        usable = {task.id: usable_variants(task, grader) for task in offered if task.id in extended}
    return rewrite_tasks(suite, (task.model_copy(update={"variants": usable[task.id]}) for task in extended.values()))


def rewrite_tasks(suite: Suite, changed: Iterable[Task]) -> Suite:
    """Write the changed tasks over the tasks with the same ids in the suite's files. Return the reloaded suite."""
    by_id = {task.id: task for task in changed}
    for topic in {task.topic for task in suite.tasks if task.id in by_id}:
        tasks = (by_id.get(task.id, task) for task in suite.tasks if task.topic is topic)
        write_whole(suite.folder / "tasks" / f"{topic.value}.jsonl", json_lines(tasks).encode())
    return load_written_suite(suite.folder)


def _offered_variants(suite: Suite, task: Task) -> tuple[str, ...]:
    """Return the original variant, and each added variant for which the task's set-up creates files."""
    existing = {variant.name for variant in suite.worlds[task.world].manifest.variants}
    return tuple(name for name in variants_with_objects(task.setup) if name in existing) if task.variants else ()


def usable_variants(task: Task, grader: Grader) -> tuple[str, ...]:
    """Return the task's first variant, and each added variant that makes no reference's verdict worse.

    The judge compares each reference with the task's other references: once on the first variant alone, and once on
    the first variant together with the added one.
    """
    first, *others = task.variants
    cases = [grader.full_case(GradingItem(task.id, command, number)) for number, command in enumerate(task.references)]
    usable = [first]
    if any(case.candidate is None or first not in case.candidate.trials for case in cases):
        return (first,)
    ranks = [_rank(grader, case, usable) for case in cases]
    for name in others:
        if not all(_ends_well(case.candidate, first, name) for case in cases):
            continue
        new_ranks = [_rank(grader, case, [*usable, name]) for case in cases]
        if all(new_rank <= old_rank for new_rank, old_rank in zip(new_ranks, ranks, strict=True)):
            usable, ranks = [*usable, name], new_ranks
    return tuple(usable)


def _rank(grader: Grader, case: Case, names: Sequence[str]) -> int:
    """Judge a reference against the other references of its task, in the variants `names`.

    Return 0 for a pass or for the only reference of a task, 1 for an undecided judgement, and 2 for any other outcome.
    """
    if not case.references or case.candidate is None:
        return 0
    return _RANK.get(grader.judge.judge(case.within(names)).outcome, _WORST_RANK)


def _ends_well(executed: Executed | None, first: str, name: str) -> bool:
    """Return whether a reference exits normally in variant `name`, and is as successful there as in `first`."""
    if executed is None or name not in executed.trials:
        return False
    before, after = executed.trials[first].first, executed.trials[name].first
    return after.ending is Ending.EXITED and (_only_reports_errors(before) or not _only_reports_errors(after))


def _only_reports_errors(evidence: Evidence) -> bool:
    return bool(evidence.status and evidence.stderr.size and not evidence.stdout.size and not evidence.changes)


def order_suite(project: Project, suite: Suite, progress: Progress, *, workers: int | None = None) -> Suite:
    """Set line-by-line comparison of outputs for each task that asks for an order of lines.

    The references of such a task must print the same order. The suite is written again if any task changes. Its
    evidence stays valid, because evidence does not depend on the kind of comparison.
    """
    with open_grader(project, suite, progress, workers=workers, adjudicated=False) as grader:
        grader.ensure_evidence(GradingItem(task.id, command) for task in suite.tasks for command in task.references)
        ordered = {task.id for task in suite.tasks if has_order(task, _outputs(task, grader))}
    changed = (task for task in suite.tasks if task.id in ordered)
    return rewrite_tasks(suite, (task.model_copy(update={"output": OutputMode.LINES}) for task in changed))


def _outputs(task: Task, grader: Grader) -> dict[str, list[bytes]]:
    """Return each variant's outputs of a task's references, or nothing if a reference has no evidence."""
    if any(grader.failure(task.id, command) for command in task.references):
        return {}
    outputs: dict[str, list[bytes]] = {}
    for command in task.references:
        for variant, trial in grader.trials(task.id, command).items():
            outputs.setdefault(variant, []).append(trial.first.stdout.data.rstrip(b"\n") + b"\n")
    return outputs
