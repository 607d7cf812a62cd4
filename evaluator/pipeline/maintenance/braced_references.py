"""Judge each reference of a suite in braces: `{ REFERENCE`, a line end, and `}`.

Bash runs the command as before, so each verdict other than a pass shows a defect: of the judge, of the sandbox, or of a
reference whose result changes from run to run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from evaluator.judges import volatile_fields
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Finding, Outcome, Record, Task
from evaluator.suites.load import Suite


class BracedReference(Record):
    """The verdict on a reference in braces. `volatile` are the fields in which two runs of the reference differ."""

    task: str
    reference: int
    outcome: Outcome
    reason: str
    status: int | None
    volatile: tuple[str, ...]


def in_braces(command: bytes) -> bytes:
    """Return a command in braces. The line end also ends a comment or a here-document of the command."""
    return b"{ " + command + b"\n}"


def judge_braced_references(
    project: Project, suite: Suite, progress: Progress, *, tasks: Sequence[str] = (), workers: int | None = None
) -> list[BracedReference]:
    """Execute and judge the references of the named tasks, or of all tasks, in braces. Return all verdicts."""
    selected = [suite.task(name) for name in tasks] or list(suite.tasks)
    with open_grader(project, suite, progress, workers=workers, adjudicated=False) as grader:
        return braced_verdicts(selected, grader)


def braced_verdicts(tasks: Iterable[Task], grader: Grader) -> list[BracedReference]:
    """Return the grader's verdict on each reference of the tasks in braces, compared with all references."""
    items = {
        GradingItem(task.id, in_braces(command)): (task, number)
        for task in tasks
        for number, command in enumerate(task.references, 1)
    }
    grader.ensure_evidence(GradingItem(task.id, None) for task, _ in items.values())
    findings = grader.grade(items)
    return [_verdict(task, number, findings[item], grader) for item, (task, number) in items.items()]


def _verdict(task: Task, number: int, finding: Finding, grader: Grader) -> BracedReference:
    command = task.references[number - 1]
    trials = {} if grader.failure(task.id, command) else grader.trials(task.id, command)
    first = next(iter(trials.values()), None)
    return BracedReference(
        task=task.id,
        reference=number,
        outcome=finding.outcome,
        reason=finding.reason,
        status=first.first.status if first else None,
        volatile=tuple(dict.fromkeys(field for trial in trials.values() for field in volatile_fields(trial, task))),
    )


def braced_lines(verdicts: Sequence[BracedReference]) -> Iterator[str]:
    """Yield a line for each verdict other than a pass, and a last line with the counts."""
    others = [verdict for verdict in verdicts if verdict.outcome is not Outcome.PASS]
    for verdict in others:
        status = f"; the reference ends with status {verdict.status}" if verdict.status else ""
        volatile = (
            f"; two runs of the reference differ in {', '.join(verdict.volatile[:3])}" if verdict.volatile else ""
        )
        place = f"{verdict.task}, reference {verdict.reference}"
        yield f"{place}: {verdict.outcome.value}: {verdict.reason}{status}{volatile}"
    yield f"{len(verdicts) - len(others)} of {len(verdicts)} references pass in braces"
