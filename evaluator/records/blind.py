"""Define the records of the blind set: answers by writers who had not seen the worlds, and judges' results on them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import NonNegativeInt, PositiveInt, StringConstraints

from evaluator.records.real_answers import EstimatedShare
from evaluator.records.record import Bytes, Identifier, Record, Slug, VersionText
from evaluator.records.suites import Tier
from evaluator.records.validation import Part


class AnswerKind(StrEnum):
    """What a writer intended: a plausible wrong answer, or an unusual right one."""

    WRONG = "wrong"
    RIGHT = "right"


class ReaderLabel(StrEnum):
    """A second reader's decision about an answer. The reader saw neither the writer's label nor a verdict."""

    WRONG = "wrong"
    RIGHT = "right"
    UNSURE = "unsure"


class AttackAnswer(Record):
    """One line of a writer's file: an answer to a task, and what the writer intended.

    For a wrong answer, `differs` tells the input on which it differs from a right one. For a right answer, it tells
    what is unusual.
    """

    task: Identifier
    kind: AnswerKind
    command: Bytes
    differs: Annotated[str, StringConstraints(min_length=8, max_length=2000, strip_whitespace=True)]


class BlindAnswer(AttackAnswer):
    """One line of `fixtures/<suite>/blind.jsonl`: a writer's answer, with the label of a second reader.

    `label_set` is the version of the set, and is the same in all lines. An answer counts in a judge's results only if
    the reader agrees with the writer.
    """

    format: Literal[1]
    label_set: PositiveInt
    reader: ReaderLabel

    @property
    def is_disputed(self) -> bool:
        """Return whether the reader does not agree with the writer."""
        return self.reader.value != self.kind.value


class LabelledRow(Record):
    """One line of a second reader's file: the label of the answer with the key `row`, and perhaps the reason."""

    row: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}$")]
    label: ReaderLabel
    because: str = ""


class BlindFigures(Record):
    """One judge's results on the blind set of one suite: on one half of its tasks, and on one tier of them or on all.

    `wrong_passed` is the share of wrong answers that pass, `right_failed` the share of right answers that fail, and
    `undecided` the share of all answers that the judge does not decide. Timeout, invalid and unanswered count as fail.
    `left_out` counts the disputed answers. Infra-errors are counted separately and do not affect any share. `label_set`
    is None for the answers of a new attack, which no second reader has labelled. `model` names the models that a judge
    asked.
    """

    judge: str
    model: str = ""
    version: int
    suite: Slug
    suite_version: VersionText
    label_set: PositiveInt | None = None
    part: Part
    tier: Tier | None = None
    tasks: NonNegativeInt
    left_out: NonNegativeInt
    infra_errors: NonNegativeInt
    wrong_passed: EstimatedShare
    right_failed: EstimatedShare
    undecided: EstimatedShare
