"""Groups of equal answers to a task, so that a command that many systems give is shown once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.leaderboard.result_text import ResultText
from evaluator.records import Method, Outcome, Result, Standing, Task


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """The submissions with the same command and the same finding, in the order of the standings.

    `first` is the result of the first of them. `reference` is the number of the reference that the command equals,
    counted from 1, or None.
    """

    first: Result
    reference: int | None
    submissions: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """Return whether the answer passes."""
        return self.first.finding.outcome is Outcome.PASS


def answer_groups(task: Task, suite: str, attempts: Mapping[str, ResultText]) -> list[AnswerGroup]:
    """Group the first candidates for a task. Passed commands come first, then the commands of most systems.

    `attempts` has the first candidate of each submission. Only one result of each group is made of its text.
    """
    groups: dict[tuple[str | None, str], list[str]] = {}
    for slug, text in attempts.items():
        groups.setdefault((text.command, text.finding), []).append(slug)
    references = {command: number for number, command in reversed(list(enumerate(task.references, 1)))}
    found = []
    for slugs in groups.values():
        first = attempts[slugs[0]].result(slugs[0], suite)
        number = None if first.command is None else references.get(first.command)
        found.append(AnswerGroup(first, number, tuple(slugs)))
    return sorted(found, key=lambda group: (not group.passes, -len(group.submissions)))


def split_controls(
    attempts: Mapping[str, ResultText], standings: Mapping[str, Standing]
) -> tuple[dict[str, ResultText], dict[str, ResultText]]:
    """Return the attempts of systems, and the attempts of controls, which count as no system."""
    systems = {slug: text for slug, text in attempts.items() if standings[slug].method is not Method.CONTROL}
    return systems, {slug: text for slug, text in attempts.items() if slug not in systems}
