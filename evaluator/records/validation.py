"""Define the records of a judge's quality: its results on labelled commands, and its agreement with people."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, NonNegativeInt, StringConstraints

from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug, VersionText
from evaluator.records.verdicts import Finding


class PairKind(StrEnum):
    """The source of labelled pairs. A pair is a task and a command, with the label equivalent or wrong.

    `table-4` is the method for Table 4 of Westenfelder et al. 2025: a reference of the task is equivalent, and a
    reference of another task is wrong. `near-misses` and `mutants` are commands that look right. `labelled` commands
    have a label from a person. `real-answers` are labelled answers of real systems (see `RealAnswerLabel`). `blind`
    answers are by writers who had not seen the worlds (see `BlindAnswer`).
    """

    BLIND = "blind"
    REAL_ANSWERS = "real-answers"
    TABLE_4 = "table-4"
    NEAR_MISSES = "near-misses"
    MUTANTS = "mutants"
    LABELLED = "labelled"


class Part(StrEnum):
    """A part of a suite's tasks: all, those used to write a judge's rules, or those held back to test the rules."""

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
    """One line of `fixtures/overrides/<suite>/labels.jsonl`: whether a mutant does what its task asks, with the reason.

    A person gave the label after reading the command, without knowing the command's results in any world. The label
    names the command by its digest, so that the file does not quote an external suite. To find the command, make all
    mutants of the task and compare their digests.
    """

    format: Literal[1]
    task: Identifier
    command_digest: Digest
    label: bool
    because: Annotated[str, StringConstraints(min_length=8, max_length=500, strip_whitespace=True)]


RATES: Final = ("precision", "recall", "f1", "accuracy", "accuracy_decided")
"""The rates computed from a judge's counts."""


class JudgeFigures(Record):
    """One judge's results on one set of labelled pairs. A pair is a task and a command.

    For example, `wrong_passed` counts the pairs with the label wrong that the judge passed. Timeout, invalid and
    unanswered count as failed. `seconds` is the judge's own time, without execution. Infra-errors are counted
    separately and do not affect any rate. `model` names the models that a judge asked. It is empty for a judge without
    a model.
    """

    judge: str
    model: str = ""
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
        """Return the number of pairs that are labelled equivalent."""
        return self.equivalent_passed + self.equivalent_failed + self.equivalent_undecided

    @property
    def wrong(self) -> int:
        """Return the number of pairs that are labelled wrong."""
        return self.wrong_passed + self.wrong_failed + self.wrong_undecided

    @property
    def undecided(self) -> int:
        """Return the number of pairs that the judge did not decide."""
        return self.equivalent_undecided + self.wrong_undecided

    @property
    def precision(self) -> float | None:
        """Return the share of pairs labelled equivalent among the pairs that the judge passed."""
        return _ratio(self.equivalent_passed, self.equivalent_passed + self.wrong_passed)

    @property
    def recall(self) -> float | None:
        """Return the share of passed pairs among the pairs labelled equivalent. An undecided pair is not passed."""
        return _ratio(self.equivalent_passed, self.equivalent)

    @property
    def f1(self) -> float | None:
        """Return the harmonic mean of precision and recall."""
        return _ratio(2 * self.equivalent_passed, self.equivalent_passed + self.wrong_passed + self.equivalent)

    @property
    def accuracy(self) -> float | None:
        """Return the share of right decisions. An undecided pair counts as failed, as in Westenfelder et al. 2025."""
        return _ratio(self.equivalent_passed + self.wrong_failed + self.wrong_undecided, self.equivalent + self.wrong)

    @property
    def accuracy_decided(self) -> float | None:
        """Return the share of right decisions among the decided pairs."""
        decided = self.equivalent + self.wrong - self.undecided
        return _ratio(self.equivalent_passed + self.wrong_failed, decided)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


class AnnotatorAgreement(Record):
    """The agreement of one measure with people about the correctness of commands.

    `rows` is the number of commands. `raw` is the share of commands for which the measure and the people agree. `kappa`
    is Cohen's kappa, or None if the measure or the people give the same answer for all commands. `auc` is the area
    under the ROC curve, or None for a measure that answers only yes or no.
    """

    measure: str
    rows_of: Literal["all", "without placeholders", "with placeholders"]
    rows: NonNegativeInt
    raw: float | None
    kappa: float | None
    auc: float | None


class Mistake(Record):
    """A labelled command that a judge decided wrongly or did not decide, with its task."""

    judge: str
    suite: Slug
    kind: PairKind
    part: Part
    task: Identifier
    command: Bytes
    equivalent: bool
    finding: Finding
