"""What becomes of a board when published verdicts change, and which of them wait for a maintainer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, StringConstraints

from evaluator.records.metrics import Share
from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug, VersionText
from evaluator.records.verdicts import Finding, Step

Rank = Annotated[int, Field(ge=1)]


class BoardPosition(Record):
    """Where a row stands; the range of ranks is None where it is not ranked."""

    asked: NonNegativeInt
    passed: NonNegativeInt
    undecided: NonNegativeInt
    accuracy: Share
    rank_low: Rank | None = None
    rank_high: Rank | None = None


class RowChange(Record):
    """A row before and after; None where nothing is published of it."""

    submission: Slug
    before: BoardPosition | None
    after: BoardPosition | None

    @property
    def is_moved(self) -> bool:
        """Whether anything of it changes."""
        return self.before != self.after


class VerdictChange(Record):
    """A verdict with another outcome than before, on a candidate of so high a `rank`, and why.

    `command` holds the first bytes of `size`, and is None where nothing was given. `why` says what the verdict was
    given by that is another now.
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
    """One suite's board before and after: its rows, in the order after, and its flips.

    `kinds` counts the flips by outcomes, such as `fail → pass`. `given` are commands that had no verdict before, `gone`
    those that have none any more, and `reasoned` those of the same outcome by another step or reason.
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
    """What changes when published verdicts do, suite by suite; a suite in which nothing changes is left out."""

    format: Literal[1]
    suites: tuple[SuiteDiff, ...] = ()


Line = Annotated[str, StringConstraints(pattern=r"^bashboard [a-z]+ [\w. '-]+$")]
"""A command to type."""
FormAddress = Annotated[str, StringConstraints(pattern=r"^https?://[\w.:/?=&%+-]+$")]
"""Of an issue form with fields filled in."""


class CandidateSource(Record):
    """Who gave a command, as which of its candidates."""

    submission: Slug
    rank: Rank


class Contested(Record):
    """A published verdict that is undecided: one command on one task, whoever gave it.

    `command` holds the first bytes of `size`; `digest` names all of it. `rows` counts the rows whose accuracy a ruling
    may move. `explain` and `adjudicate` are lines to type; `appeal` is the address of the form, None where the
    repository's own is not known.
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
