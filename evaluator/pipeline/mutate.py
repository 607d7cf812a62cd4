"""Test a suite by mutation: make every reference's mutants, execute them in all variants, judge them, report.

A world at a time, so that what is in memory does not grow with the suite. Everything executed is in the store at
once: a run that was interrupted goes on where it was, and one where nothing changed executes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from evaluator.errors import UsageError
from evaluator.judges import find_judge
from evaluator.pipeline.bench import Bench, open_bench
from evaluator.pipeline.grading import Grader
from evaluator.pipeline.keys import Subject
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Equivalence, Finding, MutationReport, Task
from evaluator.shell.mutation import mutants_of
from evaluator.suites.load import Suite
from evaluator.suites.mutants import (
    AskedMutant,
    equivalences_path,
    mark_equivalent,
    mutants_of_task,
    read_equivalences,
    report,
)


def mutate_suite(
    project: Project,
    suite: Suite,
    progress: Progress,
    *,
    topics: Collection[str] = (),
    tasks: Collection[str] = (),
    workers: int | None = None,
) -> MutationReport:
    """What became of the mutants of the tasks named, of those of the topics, or of all."""
    chosen = choose(suite, topics, tasks)
    marks = read_equivalences(equivalences_path(project.root / "fixtures", suite.manifest.name))
    findings: dict[AskedMutant, Finding] = {}
    with open_bench(project, suite, progress, workers=workers) as bench:
        for world, group in groupby(sorted(chosen, key=lambda task: task.world), key=lambda task: task.world):
            asked = [mutant for task in group for mutant in mutants_of_task(task, mutants_of)]
            findings |= _judge(suite, asked, bench, _OfWorld(progress, world))
    place = {task.id: number for number, task in enumerate(suite.tasks)}
    ordered = dict(sorted(findings.items(), key=lambda item: place[item[0].task.id]))
    retired, whole = {mark.task for mark in marks} - place.keys(), not (topics or tasks)
    return report(suite.manifest.name, ordered, marks, tasks=chosen, retired=retired if whole else (), whole=whole)


def choose(suite: Suite, topics: Collection[str], tasks: Collection[str]) -> Sequence[Task]:
    """The tasks that are named or of a named topic; all where nothing is named. Raises UsageError."""
    known = {task.topic.value for task in suite.tasks}
    for topic in topics:
        if topic not in known:
            raise UsageError(f"suite {suite.manifest.name} has no topic {topic!r}; it has: {', '.join(sorted(known))}")
    named = {suite.task(name).id for name in tasks}
    if not topics and not named:
        return suite.tasks
    return [task for task in suite.tasks if task.topic.value in topics or task.id in named]


def mark_mutant(project: Project, suite: Suite, task_id: str, command: bytes, because: str) -> Equivalence:
    """Mark a mutant of a task as equivalent. Raises UsageError where no reference has that mutant."""
    task = suite.task(task_id)
    if not any(mutant.command == command for mutant in mutants_of_task(task, mutants_of)):
        raise UsageError(
            f"{command.decode(errors='replace')!r} is no mutant of {task.id}; "
            f"see: bashboard suite mutate {suite.manifest.name} --task {task.id}"
        )
    path = equivalences_path(project.root / "fixtures", suite.manifest.name)
    return mark_equivalent(path, task, command, because)


class _OfWorld:
    """Progress whose stages say which world they are of."""

    def __init__(self, progress: Progress, world: str) -> None:
        self._progress, self._world = progress, world

    def say(self, text: str) -> None:
        self._progress.say(text)

    def stage(self, name: str, total: int) -> None:
        self._progress.stage(f"{self._world}: {name}", total)

    def advance(self) -> None:
        self._progress.advance()

    def note(self, text: str) -> None:
        self._progress.note(text)


def _judge(suite: Suite, asked: Sequence[AskedMutant], bench: Bench, progress: Progress) -> dict[AskedMutant, Finding]:
    """Findings by `consensus`, which is what ranks, whatever judge a board is graded by."""
    judge = find_judge("consensus")
    grader = Grader(suite, judge, bench.store, bench.fingerprint(), bench.execute, progress)
    subjects = {each: Subject(each.task.id, each.command) for each in asked}
    findings = grader.grade(subjects.values())
    return {each: findings[subject] for each, subject in subjects.items()}
