"""Define the records of a suite's mutation tests: reports, and marks of mutants that are equivalent to a reference.

A mutant is a reference with one mistake that the suite should detect.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug
from evaluator.records.verdicts import Outcome


class Equivalence(Record):
    """One line of `fixtures/overrides/<suite>/equivalent.jsonl`: a mutant that does what the task asks, and why.

    A mutant is a reference with one change. The digests identify the task and the mutant's command, so the line does
    not apply to a reworded task or another command. `task` is the task's name, for human readers.
    """

    format: Literal[1]
    task: Identifier
    task_digest: Digest
    command_digest: Digest
    because: Annotated[str, StringConstraints(min_length=8, max_length=500, strip_whitespace=True)]


class JudgedMutant(Record):
    """A mutant (a reference with one mistake) with its outcome.

    `reference` is the number of the reference in its task, counted from 1. `variant` names the variant of the task's
    world that decided the outcome.
    """

    task: Identifier
    reference: Annotated[int, Field(ge=1)]
    operator: str
    command: Bytes
    outcome: Outcome
    reason: str = ""
    variant: str | None = None
    equivalent: bool = False


class StaleEquivalence(Record):
    """A line of `equivalent.jsonl` that is outdated or wrong, with the reason."""

    mark: Equivalence
    line: int
    reason: str


class MutantTally(Record):
    """The numbers of mutants in one group.

    `mutants` is the number of all mutants of the group. `failed`, `survived`, `undecided` and `equivalent` are the
    numbers of mutants with that result.
    """

    mutants: int
    failed: int
    survived: int
    undecided: int
    equivalent: int

    @property
    def score(self) -> float | None:
        """Return failed / (mutants - equivalent), or None if the divisor is 0."""
        counted = self.mutants - self.equivalent
        return self.failed / counted if counted else None


class OperatorTally(MutantTally):
    """The numbers of mutants that one mutation operator made."""

    operator: str


class WorldTally(MutantTally):
    """The numbers of mutants of one world's tasks."""

    world: Slug


class TaskTally(MutantTally):
    """The numbers of mutants of one task."""

    task: Identifier


class MutationReport(Record):
    """The results of judging a suite's mutants, which are references with one mistake each.

    `mutants` counts the judged mutants. It excludes the `refused` mutants, which bash does not accept, and the mutants
    with an infra-error (`infra`). `score` is failed / (mutants - equivalent), or null if the divisor is 0.
    `marked_share` is the share of mutants that are marked as equivalent. `whole` is true if the report covers all tasks
    of the suite. If it is false, `score` and `marked_share` describe only the reported tasks. `sample` is the maximum
    number of judged mutants of each task, or null if all were judged. `weak` lists the tasks whose score is below
    `least_score`. `survivors` lists the mutants that passed and the undecided mutants.
    """

    most_marked: ClassVar[float] = 0.10  # Above this share, marks replace the test.
    least_score: ClassVar[float] = 0.90

    suite: Slug
    whole: bool = True
    sample: int | None = None
    tasks: int
    mutants: int
    failed: int
    survived: int
    undecided: int
    equivalent: int
    refused: int
    infra: int
    score: float | None
    marked_share: float
    operators: tuple[OperatorTally, ...]
    worlds: tuple[WorldTally, ...] = ()
    weak: tuple[TaskTally, ...] = ()
    survivors: tuple[JudgedMutant, ...]
    stale: tuple[StaleEquivalence, ...]

    @property
    def is_over_marked(self) -> bool:
        """Return whether the share of the suite's mutants that are marked as equivalent is above `most_marked`."""
        return self.whole and self.marked_share > self.most_marked

    @property
    def is_clean(self) -> bool:
        """Return whether the report shows no problem.

        Problems are survivors, infra-errors, outdated marks of equivalent mutants, and too many such marks.
        """
        return not (self.survivors or self.stale or self.infra or self.is_over_marked)
