"""Define the records of scores on a sealed edition of a suite: counts alone, without a task, a command or an output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, NonNegativeInt, model_validator

from evaluator.records.comparison import Difference, PairTally
from evaluator.records.metrics import Share
from evaluator.records.record import Digest, Record, Slug, VersionText
from evaluator.records.suites import Tier

ALL_TIERS: Final = "all"
"""The key of the counts over all tasks, beside the tiers."""


class EditionRow(Record):
    """The counts of one submission. `answers` is the digest of its answers to the public suite and to the edition.

    `tiers` maps `all` and each tier to the numbers of tasks that the submission passes in both, only in the public
    suite (`only_first`), only in the edition (`only_second`), and in neither.
    """

    submission: Slug
    answers: Digest
    tiers: Annotated[Mapping[Literal["all"] | Tier, PairTally], Field(min_length=1)]

    @model_validator(mode="after")
    def _has_all_tasks(self) -> Self:
        if ALL_TIERS not in self.tiers:
            raise ValueError(f"tiers: expected {ALL_TIERS} among them, found {', '.join(self.tiers)}")
        return self


class EditionFigures(Record):
    """The file `fixtures/editions/<suite>@<edition>.figures.json`: the only file that a sealed scoring writes."""

    newest_format: ClassVar[int] = 1

    format: Literal[1] = 1
    suite: Slug
    edition: Slug
    suite_version: VersionText
    judge: Slug
    judge_version: Annotated[int, Field(ge=1)]
    rows: tuple[EditionRow, ...]


class EditionDifference(Record):
    """A submission's accuracy on the public suite minus its accuracy on an edition, paired by task.

    `difference_low` and `difference_high` are the bounds of a 95 % interval for pairs (Newcombe's method 10). `tier` is
    `all` or a tier.
    """

    edition: Slug
    submission: Slug
    tier: str
    tasks: NonNegativeInt
    public: Share
    sealed: Share
    difference: Difference
    difference_low: Difference
    difference_high: Difference
