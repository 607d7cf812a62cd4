"""How good a judge is: what it made of pairs whose label is known, and how it agrees with people."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, NonNegativeInt, StringConstraints

from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug, VersionText
from evaluator.records.verdicts import Finding


class PairKind(StrEnum):
    """Where labelled pairs come from.

    `table-4`: equivalent pairs of references and rotated ones, as in the paper's Table 4 (Westenfelder et al.
    2025); `near-misses` and `mutants`: commands that look right; `labelled`: commands labelled by hand.
    """

    TABLE_4 = "table-4"
    NEAR_MISSES = "near-misses"
    MUTANTS = "mutants"
    LABELLED = "labelled"


class Part(StrEnum):
    """Which tasks: all of a suite, those that rules were written from, or those held back."""

    ALL = "all"
    WRITTEN_FROM = "written-from"
    HELD_BACK = "held-back"


class LabelledCommand(Record):
    """One line of a file of labels: whether a command does what a task of a suite asks."""

    suite: Slug
    task: Identifier
    command: Bytes
    label: bool


class MutantLabel(Record):
    """One line of `fixtures/overrides/<suite>/labels.jsonl`: whether a mutant does what its task asks, and why.

    Said after reading the command, whatever any world shows. It names the command by its digest, so that nothing
    of a suite is quoted that is somebody else's; the command is found again among the task's mutants.
    """

    format: Literal[1]
    task: Identifier
    command_digest: Digest
    label: bool
    because: Annotated[str, StringConstraints(min_length=8, max_length=500, strip_whitespace=True)]


RATES: Final = ("precision", "recall", "f1", "accuracy", "accuracy_decided")
"""The figures that follow from a judge's counts."""


class JudgeFigures(Record):
    """What one judge made of one set of pairs. `seconds` is its own work and nobody's execution.

    Counts are of equivalent pairs and of wrong ones, by what was decided; what the judge answers with timeout,
    invalid or unanswered counts as failed. Infra-errors stand apart and are in no figure.
    """

    judge: str
    version: int
    suite: Slug
    suite_version: VersionText
    kind: PairKind
    part: Part
    equivalent_passed: NonNegativeInt
    equivalent_failed: NonNegativeInt
    equivalent_undecided: NonNegativeInt
    wrong_passed: NonNegativeInt
    wrong_failed: NonNegativeInt
    wrong_undecided: NonNegativeInt
    infra_errors: NonNegativeInt
    seconds: Annotated[float, Field(ge=0)]
    usd: Annotated[float, Field(ge=0)]

    @property
    def equivalent(self) -> int:
        """Pairs that are equivalent."""
        return self.equivalent_passed + self.equivalent_failed + self.equivalent_undecided

    @property
    def wrong(self) -> int:
        """Pairs that are not."""
        return self.wrong_passed + self.wrong_failed + self.wrong_undecided

    @property
    def undecided(self) -> int:
        """Pairs that the judge did not decide."""
        return self.equivalent_undecided + self.wrong_undecided

    @property
    def precision(self) -> float | None:
        """Of what passed, the part that is equivalent."""
        return _ratio(self.equivalent_passed, self.equivalent_passed + self.wrong_passed)

    @property
    def recall(self) -> float | None:
        """Of what is equivalent, the part that passed; undecided did not."""
        return _ratio(self.equivalent_passed, self.equivalent)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall."""
        return _ratio(2 * self.equivalent_passed, self.equivalent_passed + self.wrong_passed + self.equivalent)

    @property
    def accuracy(self) -> float | None:
        """The part that is right, undecided taken for fail, as the paper's heuristics cannot but decide."""
        return _ratio(self.equivalent_passed + self.wrong_failed + self.wrong_undecided, self.equivalent + self.wrong)

    @property
    def accuracy_decided(self) -> float | None:
        """Of what the judge decided, the part that is right."""
        decided = self.equivalent + self.wrong - self.undecided
        return _ratio(self.equivalent_passed + self.wrong_failed, decided)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


class AnnotatorAgreement(Record):
    """How one measure agrees with people on which of `rows` commands are correct.

    `raw` is the part of rows where both say the same, `kappa` Cohen's, None where a side never varies, `auc` the
    area under the ROC curve, None for what only says yes or no.
    """

    measure: str
    rows_of: Literal["all", "without placeholders", "with placeholders"]
    rows: NonNegativeInt
    raw: float | None
    kappa: float | None
    auc: float | None


class Mistake(Record):
    """A pair that a judge got wrong or did not decide."""

    judge: str
    suite: Slug
    kind: PairKind
    part: Part
    task: Identifier
    command: Bytes
    equivalent: bool
    finding: Finding


class Validation(Record):
    """The file of figures that a page about the judges is made from."""

    format: Literal[1]
    figures: tuple[JudgeFigures, ...] = ()
    agreements: tuple[AnnotatorAgreement, ...] = ()
