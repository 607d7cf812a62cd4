"""Define two kinds of records: changes of a board and its verdicts, and verdicts that a maintainer should decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, StringConstraints

from evaluator.records.metrics import Share
from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug, VersionText
from evaluator.records.verdicts import Finding, Step

Rank = Annotated[int, Field(ge=1)]


class BoardPosition(Record):
    """The position of a submission's row on the board. `rank_low` and `rank_high` are None for a row without a rank."""

    asked: NonNegativeInt
    passed: NonNegativeInt
    undecided: NonNegativeInt
    accuracy: Share
    rank_low: Rank | None = None
    rank_high: Rank | None = None


class RowChange(Record):
    """A row of the board before and after verdicts change. `before` or `after` is None if the row is absent then."""

    submission: Slug
    before: BoardPosition | None
    after: BoardPosition | None

    @property
    def is_moved(self) -> bool:
        """Return whether the row's counts, accuracy or ranks change."""
        return self.before != self.after


class VerdictChange(Record):
    """A verdict whose outcome changed, with the reasons. `rank` is the command's rank among the task's candidates.

    `command` holds the first bytes of the command, or is None if there is no answer. `size` is the length of the full
    command. `why` lists the changed inputs of the verdict.
    """

    submission: Slug
    task: Identifier
    rank: Rank
    command: Bytes | None
    size: NonNegativeInt
    before: Finding
    after: Finding
    why: tuple[str, ...]


class SuiteDiff(Record):
    """One suite's board before and after verdicts change.

    `rows` has the order of the board after the change. `flips` lists the changed outcomes. `kinds` counts the flips of
    each kind, such as `fail → pass`. `given` counts commands that had no verdict before. `gone` counts commands that
    have no verdict after the change. `reasoned` counts verdicts with the same outcome but another deciding step or
    another reason.
    """

    suite: Slug
    suite_version: VersionText
    rows: tuple[RowChange, ...]
    kinds: Mapping[str, int]
    flips: tuple[VerdictChange, ...]
    given: NonNegativeInt = 0
    gone: NonNegativeInt = 0
    reasoned: NonNegativeInt = 0


class VerdictDiff(Record):
    """The effect of changed verdicts on every suite. Unchanged suites are left out."""

    format: Literal[1]
    suites: tuple[SuiteDiff, ...] = ()


Line = Annotated[str, StringConstraints(pattern=r"^bashboard [a-z]+ [\w. '-]+$")]
"""A command to run in a terminal."""
FormAddress = Annotated[str, StringConstraints(pattern=r"^https?://[\w.:/?=&%+-]+$")]
"""The URL of an issue form with some fields filled in."""


class CandidateSource(Record):
    """A submission that gave a command, and the command's rank among the submission's candidates for the task."""

    submission: Slug
    rank: Rank


class Contested(Record):
    """An undecided published verdict on one command of one task, for all submissions that gave the command.

    `command` holds the first bytes of the command. `size` and `digest` describe the full command. `rows` counts the
    rows of the board whose accuracy a ruling may change. `explain` and `adjudicate` are `bashboard` commands for the
    maintainer. `appeal` is the URL of the issue form, or None if the repository's own URL is unknown.
    """

    suite: Slug
    task: Identifier
    instruction: str
    command: Bytes
    size: NonNegativeInt
    digest: Digest
    step: Step | None
    reason: str
    variant: str | None
    given_by: Annotated[tuple[CandidateSource, ...], Field(min_length=1)]
    rows: NonNegativeInt
    explain: Line
    adjudicate: Line
    appeal: FormAddress | None = None
