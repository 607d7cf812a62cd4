"""What must hold of a suite before anyone is measured by it.

Every reference passes when the others judge it, every near miss fails, doing nothing fails, nothing changes
from run to run unless the task says so, and learned tolerance has something to learn from. This module says
what to ask and reads the findings; executing and judging are the pipeline's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from evaluator.records import Finding, Outcome, Record, Task

DO_NOTHING: Final = (b"true", b"cat /dev/null")
"""Commands that must pass no task: a board where they do measures something else."""


class Expectation(NamedTuple):
    """A command for a task, judged without reference number `without`, and whether it has to pass."""

    task: Task
    command: bytes
    without: int | None
    must_pass: bool
    role: str


class Violation(Record):
    """Something that does not hold of a task."""

    task: str
    role: str
    command: str
    variant: str | None
    place: str | None
    reason: str


def expectations(task: Task) -> Iterator[Expectation]:
    """Everything that `verify` asks of one task."""
    for number, reference in enumerate(task.references):
        yield Expectation(task, reference, number, True, f"reference {number + 1}")
    for number, near_miss in enumerate(task.near_misses, 1):
        yield Expectation(task, near_miss, None, False, f"near miss {number}")
    for command in DO_NOTHING:
        yield Expectation(task, command, None, False, "doing nothing")


def violations(findings: Mapping[Expectation, Finding]) -> Iterator[Violation]:
    """The expectations that were not met, in order."""
    for asked, finding in findings.items():
        if asked.must_pass and finding.outcome is not Outcome.PASS:
            yield _violation(asked, finding, f"must pass, but {finding.outcome.value}: {finding.reason}")
        elif not asked.must_pass and finding.outcome is Outcome.PASS:
            yield _violation(asked, finding, "must fail, but passes: no variant tells it from a reference")
        elif not asked.must_pass and finding.outcome in (Outcome.UNDECIDED, Outcome.INFRA_ERROR):
            yield _violation(asked, finding, f"must fail, but {finding.outcome.value}: {finding.reason}")


def _violation(asked: Expectation, finding: Finding, reason: str) -> Violation:
    return Violation(
        task=asked.task.id,
        role=asked.role,
        command=asked.command.decode(errors="replace"),
        variant=finding.variant,
        place=finding.place.decode(errors="replace") if finding.place is not None else None,
        reason=reason,
    )


def volatile_violation(task: Task, command: bytes, variant: str, fields: tuple[str, ...]) -> Violation:
    """A reference whose own two runs differ although the task does not say that it may."""
    return Violation(
        task=task.id,
        role="volatility",
        command=command.decode(errors="replace"),
        variant=variant,
        place=fields[0],
        reason=f"two runs of this reference differ in {', '.join(fields)}: expected the same, or the task's `volatile`",
    )
