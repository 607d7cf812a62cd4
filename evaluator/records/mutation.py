"""Define the records of mutation tests of a suite: marks of equivalent mutants, and reports."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug
from evaluator.records.verdicts import Outcome


class Equivalence(Record):
    """One line of `fixtures/overrides/<suite>/equivalent.jsonl`: a mutant that does what the task asks, and why.

    The digests identify the task and the command, so the mark does not apply to a reworded task or another command.
    `task` is for human readers. It also shows whether the task of an outdated mark was removed or reworded.
    """

    format: Literal[1]
    task: Identifier
    task_digest: Digest
    command_digest: Digest
    because: Annotated[str, StringConstraints(min_length=8, max_length=500, strip_whitespace=True)]


class JudgedMutant(Record):
    """A mutant with its outcome. References are counted from 1. `variant` is the variant that decided the outcome."""

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


class OperatorTally(Record):
    """The number of judged mutants of one operator, by result."""

    operator: str
    mutants: int
    failed: int
    survived: int
    undecided: int
    equivalent: int


class MutationReport(Record):
    """The results for the mutants of a suite's references.

    `score` is failed / (mutants - equivalent), or null if the divisor is 0. Undecided mutants count in the divisor
    only. `whole` is true if the report covers all tasks of the suite. If `whole` is false, `marked_share` does not
    describe the suite. `refused` counts mutants that bash does not accept, and `infra` counts infra-errors. Neither is
    part of `mutants`. `survivors` also lists the undecided mutants.
    """

    most_marked: ClassVar[float] = 0.10  # Above this share, marks replace the test.

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
        """Return whether the share of mutants that are marked equivalent exceeds the allowed maximum."""
        return self.whole and self.marked_share > self.most_marked

    @property
    def is_clean(self) -> bool:
        """Return whether the report has no survivors, stale marks or infra-errors, and not too many marked mutants."""
        return not (self.survivors or self.stale or self.infra or self.is_over_marked)
