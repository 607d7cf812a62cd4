"""What testing a suite by mutation keeps and finds."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug
from evaluator.records.verdicts import Outcome


class Equivalence(Record):
    """One line of `fixtures/overrides/<suite>/equivalent.jsonl`: a mutant that does what the task asks, and why.

    It is keyed by the task's digest and the command's: a reworded task or another command is not meant. `task` is
    for people, and tells a mark without a task from one whose task was reworded.
    """

    format: Literal[1]
    task: Identifier
    task_digest: Digest
    command_digest: Digest
    because: Annotated[str, StringConstraints(min_length=8, max_length=500, strip_whitespace=True)]


class JudgedMutant(Record):
    """A mutant of a reference (1-based) and what became of it; `variant` is where that was decided."""

    task: Identifier
    reference: Annotated[int, Field(ge=1)]
    operator: str
    command: Bytes
    outcome: Outcome
    reason: str = ""
    variant: str | None = None
    equivalent: bool = False


class StaleEquivalence(Record):
    """A mark that says nothing any more, or something untrue, and why."""

    mark: Equivalence
    line: int
    reason: str


class OperatorTally(Record):
    """How many mutants of one operator were judged and what became of them."""

    operator: str
    mutants: int
    failed: int
    survived: int
    undecided: int
    equivalent: int


class MutationReport(Record):
    """What became of the mutants of a suite's references.

    `score` is failed / (mutants - equivalent), undecided mutants among the denominator and not the numerator; null
    where there is nothing to divide by. `whole` tells that all tasks were asked: only then is the share that is marked
    one of the suite. `refused` mutants are those that bash does not accept: they are not counted
    among `mutants`. `infra` are not either: our failure says nothing of them.
    """

    most_marked: ClassVar[float] = 0.10  # beyond it, marking has taken the place of testing

    suite: Slug
    whole: bool = True
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
    survivors: tuple[JudgedMutant, ...]
    stale: tuple[StaleEquivalence, ...]

    @property
    def is_over_marked(self) -> bool:
        """Whether more of the suite's mutants are marked equivalent than may be."""
        return self.whole and self.marked_share > self.most_marked

    @property
    def is_clean(self) -> bool:
        """Nothing survived or was left open, every mark holds, and there are not too many of them."""
        return not (self.survivors or self.stale or self.infra or self.is_over_marked)
