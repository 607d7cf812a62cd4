"""Define the records of the changes of a board over time, as the Git history of the verdict files has them."""

from __future__ import annotations

import uuid
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field, NonNegativeInt, StringConstraints

from evaluator.records.record import Record, Slug, WholeSecond

Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40,64}$")]
_NAMESPACE: Final = uuid.UUID("5d0f6c0e-5f0b-5a53-9d0b-1f8f5c1f5b1a")


class BoardChangeKind(StrEnum):
    """What happened: a row is new, has another score, was judged again or is gone, or the suite has a new version."""

    ADDED = "added"
    MOVED = "moved"
    RESCORED = "rescored"
    REMOVED = "removed"
    VERSION = "version"


class RowScore(Record):
    """The tasks that a submission's first candidates pass, of the tasks that have verdicts."""

    passed: NonNegativeInt
    asked: NonNegativeInt

    @property
    def accuracy(self) -> float:
        """Return the share of passed tasks, or 0 if there is no verdict."""
        return self.passed / self.asked if self.asked else 0.0


class BoardChange(Record):
    """One change of a suite's board by a commit.

    `submission` and `system` name the row. `before` and `after` are its scores, each None if there is no row. A
    rescore without another score is one change for all rows of a suite, whose number is `rows`. `versions` lists what
    the commit replaced, as pairs such as ("2.1.0", "3.0.0"). A new suite has only its own version.
    """

    kind: BoardChangeKind
    suite: Slug
    commit: Commit
    time: WholeSecond
    submission: Slug | None = None
    system: str | None = None
    before: RowScore | None = None
    after: RowScore | None = None
    rows: NonNegativeInt = 0
    versions: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """Return a URN that names this change for ever. It depends on the commit, the kind, the suite and the row."""
        parts = (self.commit, self.kind.value, self.suite, self.submission or "")
        return uuid.uuid5(_NAMESPACE, "\n".join(parts)).urn


class ChangeHistory(Record):
    """The newest changes of all boards at a commit, the latest first.

    `complete` is false if the clone is shallow, so that the earlier changes are unknown.
    """

    format: Literal[1]
    commit: Commit
    complete: bool
    changes: Annotated[tuple[BoardChange, ...], Field(max_length=10_000)] = ()
