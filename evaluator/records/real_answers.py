"""Define the records of the set *real answers*: labelled answers of real systems, and a judge's results on them.

Careful readers labelled each answer under a written rubric. A label names its command by the command's digest, because
the commands of another publisher must not be copied into this repository.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug, VersionText
from evaluator.records.submissions import command_digest
from evaluator.records.validation import Part
from evaluator.records.verdicts import Outcome, Step


class AnswerLabel(StrEnum):
    """The readers' decision about an answer. Only `yes` (right) and `no` (wrong) count in a judge's results.

    The other labels mark answers that are left out: the instruction supports both readings, or the readers disagree.
    """

    YES = "yes"
    NO = "no"
    AMBIGUOUS = "ambiguous"
    UNCLEAR = "unclear"

    @property
    def counts(self) -> bool:
        """Return whether a judge's results include an answer with this label."""
        return self in (AnswerLabel.YES, AnswerLabel.NO)


class RealAnswerLabel(Record):
    """One line of `fixtures/overrides/<suite>/real_answers.jsonl`: the label of one answer to one task.

    `label_set` is the version of the set of labels, and is the same in all lines. `command` is the answer's command if
    the project may publish it. Without `command`, the command is looked up by its digest in the local submissions.
    """

    format: Literal[1]
    label_set: PositiveInt
    task: Identifier
    command_digest: Digest
    label: AnswerLabel
    command: Bytes | None = None

    @model_validator(mode="after")
    def _check_digest(self) -> Self:
        if self.command is not None and command_digest(self.command) != self.command_digest:
            raise ValueError("command_digest: expected the SHA-256 of the bytes of `command`")
        return self


class AnswerSet(Record):
    """The labelled answers to one suite: how many labels there are, and how many of them a judge could be measured on.

    `left_out` counts the answers without a decision of the readers. `unavailable` counts the other answers whose
    commands are not on the machine that measured the judges.
    """

    suite: Slug
    suite_version: VersionText
    label_set: PositiveInt
    right: NonNegativeInt
    wrong: NonNegativeInt
    left_out: NonNegativeInt
    unavailable: NonNegativeInt


class EstimatedShare(Record):
    """A share of answers, `part` of `whole`, with its 95 % interval. The bounds are None if `whole` is 0."""

    part: NonNegativeInt
    whole: NonNegativeInt
    low: float | None = None
    high: float | None = None

    @property
    def value(self) -> float | None:
        """Return the share in [0, 1], or None if it is a share of nothing."""
        return self.part / self.whole if self.whole else None


class ConfusionRow(Record):
    """The labels of the answers that a judge decided in the same way: with one outcome, step and rule.

    `right` and `wrong` count the answers with these labels. `rule` is empty if the judge names no rule.
    """

    outcome: Outcome
    step: Step | None
    rule: str
    right: NonNegativeInt
    wrong: NonNegativeInt


class AnswerFigures(Record):
    """One judge's results on the labelled answers to one suite, for one part of the tasks.

    Timeout, invalid and unanswered count as fail. In `accuracy`, undecided counts as fail too. In
    `accuracy_perfect_panel`, the label replaces each undecided verdict. So this share counts only the mistakes that no
    panel can correct. Infra-errors are counted separately, and do not affect any share.
    """

    judge: str
    version: int
    suite: Slug
    suite_version: VersionText
    label_set: PositiveInt
    part: Part
    tasks: NonNegativeInt
    right: NonNegativeInt
    wrong: NonNegativeInt
    infra_errors: NonNegativeInt
    passes_right: EstimatedShare
    fails_right: EstimatedShare
    undecided: EstimatedShare
    accuracy: EstimatedShare
    accuracy_perfect_panel: EstimatedShare
    right_passed: EstimatedShare
    right_failed: EstimatedShare
    wrong_failed: EstimatedShare
    confusion: tuple[ConfusionRow, ...] = Field(default=())
