"""This module checks the conditions that a suite must meet before any candidate is scored with it.

Every reference must pass a comparison with all other references of its task. Near misses and commands that do nothing
must fail. Two executions of a reference must give equal results unless the task declares which parts may differ. This
module lists the commands to judge and checks their verdicts. The pipeline executes and judges these commands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from evaluator.records import Finding, Outcome, Record, Task

DO_NOTHING: Final = (b"true", b"cat /dev/null")
"""Commands that must not pass any task. If they pass, a board does not measure what it should."""


class Expectation(NamedTuple):
    """A command and its required verdict.

    If the command is a reference, `without` is its index (0-based). The judge then ignores this reference.
    """

    task: Task
    command: bytes
    without: int | None
    must_pass: bool
    role: str

    @property
    def is_near_miss(self) -> bool:
        """Return whether the command is a near miss of the task."""
        return self.role.startswith("near miss")


class Violation(Record):
    """A condition that a task of the suite does not meet, with the reason."""

    task: str
    role: str
    command: str
    variant: str | None
    place: str | None
    reason: str


def expectations(task: Task) -> Iterator[Expectation]:
    """Yield commands and required verdicts. References must pass. Near misses and commands without effect must fail."""
    for number, reference in enumerate(task.references):
        yield Expectation(task, reference, number, True, f"reference {number + 1}")
    for number, near_miss in enumerate(task.near_misses, 1):
        yield Expectation(task, near_miss, None, False, f"near miss {number}")
    for command in DO_NOTHING:
        yield Expectation(task, command, None, False, "doing nothing")


def violations(findings: Mapping[Expectation, Finding]) -> Iterator[Violation]:
    """Yield a violation for each command that does not get its required verdict."""
    for expectation, finding in findings.items():
        if expectation.must_pass and finding.outcome is not Outcome.PASS:
            yield _violation(expectation, finding, f"must pass, but {finding.outcome.value}: {finding.reason}")
        elif not expectation.must_pass and finding.outcome is Outcome.PASS:
            yield _violation(expectation, finding, "must fail, but passes: no variant tells it from a reference")
        elif not expectation.must_pass and finding.outcome in (Outcome.UNDECIDED, Outcome.INFRA_ERROR):
            yield _violation(expectation, finding, f"must fail, but {finding.outcome.value}: {finding.reason}")


def _violation(expectation: Expectation, finding: Finding, reason: str) -> Violation:
    return Violation(
        task=expectation.task.id,
        role=expectation.role,
        command=expectation.command.decode(errors="replace"),
        variant=finding.variant,
        place=finding.place.decode(errors="replace") if finding.place is not None else None,
        reason=reason,
    )


def volatile_violation(task: Task, command: bytes, variant: str, fields: tuple[str, ...]) -> Violation:
    """Return the violation of a task with a reference that gives different results in two executions in one variant."""
    return Violation(
        task=task.id,
        role="volatility",
        command=command.decode(errors="replace"),
        variant=variant,
        place=fields[0],
        reason=f"two runs of this reference differ in {', '.join(fields)}: expected the same, or the task's `volatile`",
    )


def slow_violation(task: Task, command: bytes, variant: str, cpu_ms: float, limit_s: float) -> Violation:
    """Return the violation of a reference that takes more than half of the CPU time limit in a variant.

    Another right answer may need twice the time of this reference and must not reach the limit.
    """
    return Violation(
        task=task.id,
        role="CPU time",
        command=command.decode(errors="replace"),
        variant=variant,
        place=None,
        reason=(
            f"this reference takes {cpu_ms / 1000:.2f} s of CPU time: "
            f"expected at most half of the limit of {limit_s:g} s"
        ),
    )
