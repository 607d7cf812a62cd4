"""Test a suite by mutation: judge mutants (references with one small change), and report the mutants that pass.

Evidence and verdicts are stored immediately, so an interrupted test continues from the same point. If nothing changed
since the last test, nothing is executed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from evaluator.errors import UsageError
from evaluator.judges import find_judge
from evaluator.pipeline.grading.executor import Executor, open_executor
from evaluator.pipeline.maintenance.mutant_judging import MutantJudging
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Equivalence, Finding, MutationReport, Outcome, Task, command_digest
from evaluator.shell.mutation import mutants_of
from evaluator.suites.load import Suite
from evaluator.suites.mutation_report import (
    AskedMutant,
    equivalences_path,
    mark_equivalent,
    mutants_of_task,
    read_equivalences,
    report,
    sample_of,
)


def mutate_suite(
    project: Project,
    suite: Suite,
    progress: Progress,
    *,
    topics: Collection[str] = (),
    tasks: Collection[str] = (),
    sample: int | None = None,
    workers: int | None = None,
) -> MutationReport:
    """Judge the mutants of the tasks with these ids or topics, or of the whole suite. Return the mutation report.

    With `sample`, judge at most this number of mutants of each task. Then no mark is reported as outdated.
    """
    selected = select_tasks(suite, topics, tasks)
    marks = read_equivalences(equivalences_path(project.root / "fixtures", suite.manifest.name))
    mutants = list(_mutants_of(selected, sample, progress))
    if sample is not None:
        drawn = {(mutant.task.digest, command_digest(mutant.command)) for mutant in mutants}
        marks = tuple(mark for mark in marks if (mark.task_digest, mark.command_digest) in drawn)
    with open_executor(project, suite, progress, workers=workers) as executor:
        findings = _judge(suite, mutants, executor, progress)
    ordered = {mutant: findings[mutant] for mutant in mutants}
    ids = {task.id for task in suite.tasks}
    whole = not (topics or tasks)
    retired = {mark.task for mark in marks} - ids if whole else ()
    return report(suite.manifest.name, ordered, marks, tasks=selected, retired=retired, whole=whole, sample=sample)


def select_tasks(suite: Suite, topics: Collection[str], tasks: Collection[str]) -> Sequence[Task]:
    """Return the suite's tasks with one of these ids or topics, or all tasks if there is no id and no topic.

    Raises UsageError for an unknown id or topic.
    """
    known = {task.topic.value for task in suite.tasks}
    for topic in topics:
        if topic not in known:
            raise UsageError(f"suite {suite.manifest.name} has no topic {topic!r}; it has: {', '.join(sorted(known))}")
    named = {suite.task(name).id for name in tasks}
    if not topics and not named:
        return suite.tasks
    return [task for task in suite.tasks if task.topic.value in topics or task.id in named]


def mark_mutant(project: Project, suite: Suite, task_id: str, command: bytes, reason: str) -> Equivalence:
    """Mark a task's mutant as equivalent to a reference.

    Raises UsageError if no reference of the task has this mutant.
    """
    task = suite.task(task_id)
    if not any(mutant.command == command for mutant in mutants_of_task(task, mutants_of)):
        raise UsageError(
            f"{command.decode(errors='replace')!r} is no mutant of {task.id}; "
            f"see: bashboard suite mutate {suite.manifest.name} --task {task.id}"
        )
    path = equivalences_path(project.root / "fixtures", suite.manifest.name)
    return mark_equivalent(path, task, command, reason)


def _mutants_of(tasks: Sequence[Task], sample: int | None, progress: Progress) -> Iterator[AskedMutant]:
    """Yield the mutants of one task after the other. With `sample`, yield at most this number for each task."""
    progress.stage("mutating", len(tasks))
    for task in tasks:
        mutants = list(mutants_of_task(task, mutants_of))
        yield from mutants if sample is None else sample_of(mutants, sample)
        progress.advance()


def _judge(
    suite: Suite, mutants: Sequence[AskedMutant], executor: Executor, progress: Progress
) -> Mapping[AskedMutant, Finding]:
    """Judge the mutants of a suite with the judge `consensus`, even if the project's boards use another judge."""
    elimination = MutantJudging(
        suite, find_judge("consensus"), executor.store, executor.fingerprint(), executor.execute
    )
    known = elimination.known(mutants)
    pending = [mutant for mutant in mutants if mutant not in known]
    if not pending:
        return known
    survivors = 0

    def count(finding: Finding) -> None:
        nonlocal survivors
        progress.advance()
        if finding.outcome in (Outcome.PASS, Outcome.UNDECIDED):
            survivors += 1
            progress.note(f"{survivors} survive")

    progress.stage("mutants", len(pending))
    return {**known, **elimination.judge(pending, count)}
