"""Groups of equal answers to a task, so that a command that many systems give is shown once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.records import Finding, Method, Outcome, Result, Standing, Task


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """The results with the same command and the same finding, in the order of the standings.

    `reference` is the number of the reference that the command equals, counted from 1, or None.
    """

    command: bytes | None
    finding: Finding
    reference: int | None
    results: tuple[Result, ...]


def answer_groups(task: Task, results: Sequence[Result]) -> list[AnswerGroup]:
    """Group the first candidates for a task. Passed commands come first, then the commands of most systems."""
    groups: dict[tuple[bytes | None, Finding], list[Result]] = {}
    for result in results:
        groups.setdefault((result.command, result.finding), []).append(result)
    references = {command: number for number, command in reversed(list(enumerate(task.references, 1)))}
    found = [
        AnswerGroup(command, finding, references.get(command) if command is not None else None, tuple(members))
        for (command, finding), members in groups.items()
    ]
    return sorted(found, key=lambda group: (group.finding.outcome is not Outcome.PASS, -len(group.results)))


def split_controls(results: Sequence[Result], standings: Mapping[str, Standing]) -> tuple[list[Result], list[Result]]:
    """Return the results of systems, and the results of controls, which count as no system."""
    systems = [row for row in results if standings[row.submission].method is not Method.CONTROL]
    controls = [row for row in results if standings[row.submission].method is Method.CONTROL]
    return systems, controls
