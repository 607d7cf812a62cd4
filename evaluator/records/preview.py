"""Define the record of a submission's expected result on the board, before the submission is merged.

A pull request's own workflow run makes this record, and the pull request may have changed the program of that run. A
second, trusted workflow run posts the record as a comment. So the record holds only counts, shares, names of a fixed
form and short texts. Every list has a limit, and inconsistent numbers are refused. A forged record can only misreport
its own submission.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from evaluator.records.comparison import Difference
from evaluator.records.metrics import Share, Tally
from evaluator.records.record import Identifier, Record, Slug
from evaluator.records.standings import Unranked
from evaluator.records.suites import Topic
from evaluator.records.verdicts import Step

NAMED: Final = 100
"""Maximum number of tasks that a list names. Its total counts the rest too."""
TOLD: Final = 50
"""Maximum number of tasks with details of a verdict or of collateral changes."""
PATHS: Final = 5
"""Maximum number of paths listed for one task."""
TEXT: Final = 500
"""Maximum length of one text, in characters."""
_ROUNDING: Final = 1e-6
"""Tolerance for shares that are computed in several ways."""

Count = Annotated[int, Field(ge=0, le=1_000_000)]
PositiveCount = Annotated[int, Field(ge=1, le=1_000_000)]
Text = Annotated[str, StringConstraints(max_length=TEXT)]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}$")]


class Role(StrEnum):
    """The role of a ranked submission that a preview is compared with.

    The submission leads the board, or it is the next better or the next worse submission.
    """

    LEADER = "leader"
    BETTER = "better"
    WORSE = "worse"


class TaskList(Record):
    """A shortened list of tasks: the number of all tasks, and the names of the first ones."""

    total: Count = 0
    tasks: Annotated[tuple[Identifier, ...], Field(max_length=NAMED)] = ()

    @model_validator(mode="after")
    def _lists_no_more_tasks_than_it_counts(self) -> Self:
        _require(len(self.tasks) <= self.total, f"{len(self.tasks)} tasks listed, but the total is {self.total}")
        return self

    @classmethod
    def of(cls, tasks: Iterable[str]) -> Self:
        """Return a record of the given tasks: the number of all tasks, and the names of the first ones."""
        names = tuple(tasks)
        return cls(total=len(names), tasks=names[:NAMED])


class Neighbour(Record):
    """A submission on the board, compared with the previewed submission.

    `difference` is the previewed submission's accuracy minus the neighbour's, on the tasks that have a verdict for
    both. It has a 95 % interval, which is computed from the paired results. `p_value` is the exact p-value of McNemar's
    test. `gained` lists the tasks that only the previewed submission passes, and `lost` lists the tasks that only the
    neighbour passes.
    """

    submission: Slug
    roles: Annotated[tuple[Role, ...], Field(min_length=1, max_length=len(Role))]
    asked: PositiveCount
    passed: Count
    topics: Mapping[Topic, Tally]
    difference: Difference
    difference_low: Difference
    difference_high: Difference
    p_value: Share
    gained: TaskList
    lost: TaskList

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        _require(len(set(self.roles)) == len(self.roles), "a role occurs twice")
        low, high = self.difference_low, self.difference_high
        _require(_within(self.difference, low, high), "the difference is outside its interval")
        _require(self.lost.total <= self.passed, "more tasks are lost to the neighbour than it passes")
        _require_topics(self.topics, self.asked, self.passed)
        return self


class OpenVerdict(Record):
    """A task on which the judge could not decide, with the reason. A maintainer can decide the verdict."""

    task: Identifier
    step: Step | None = None
    reason: Text = ""
    variant: Text | None = None


class Rejection(Record):
    """A task whose verifier rejected the submission's command, with the reason that the verifier gave."""

    task: Identifier
    reason: Text
    variant: Text | None = None


class UnrelatedPaths(Record):
    """A task for which the submission's command created, changed or deleted paths that no reference touches.

    `total` is the number of such paths, or 0 if the paths are unknown. `paths` holds the first of these paths.
    """

    task: Identifier
    total: Count = 0
    paths: Annotated[tuple[Text, ...], Field(max_length=PATHS)] = ()

    @model_validator(mode="after")
    def _lists_no_more_than_it_counts(self) -> Self:
        _require(len(self.paths) <= self.total, f"{len(self.paths)} paths listed, but the total is {self.total}")
        return self


class Preview(Record):
    """One submission's result on one suite, compared with the submissions on the board.

    Fields have the same meaning as in `Standing`. `ranked` counts all ranked submissions. If this
    submission is not ranked, its ranks and tie group are None, and `unranked` gives the reason. `rivals` are the leader
    and the nearest neighbours on the board. `alone` lists the tasks that this submission passes and no other ranked
    submission passes. If no other submission is ranked, `alone` is empty.

    Format 2 added `rejections`.
    """

    newest_format: ClassVar[int] = 2

    format: Literal[1, 2] = 2
    submission: Slug
    suite: Slug
    suite_version: Version
    judge: Text
    judge_version: Count
    asked: PositiveCount
    passed: Count
    failed: Count
    timeout: Count
    invalid: Count
    unanswered: Count
    undecided: Count
    infra_errors: Count
    not_asked: Count
    accuracy: Share
    accuracy_low: Share
    accuracy_high: Share
    accuracy_upper: Share
    unranked: Unranked | None
    ranked: Count
    rank_low: PositiveCount | None
    rank_high: PositiveCount | None
    tie_group: PositiveCount | None
    topics: Mapping[Topic, Tally]
    rivals: Annotated[tuple[Neighbour, ...], Field(max_length=len(Role))]
    alone: TaskList
    collateral: Count
    touched: Annotated[tuple[UnrelatedPaths, ...], Field(max_length=TOLD)]
    open_verdicts: Annotated[tuple[OpenVerdict, ...], Field(max_length=TOLD)]
    rejections: Annotated[tuple[Rejection, ...], Field(max_length=TOLD)] = ()

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        outcomes = (self.passed, self.failed, self.timeout, self.invalid, self.unanswered, self.undecided)
        _require(sum(outcomes) + self.infra_errors == self.asked, "the outcomes do not add up to the tasks asked")
        _require(_near(self.accuracy, self.passed / self.asked), "accuracy is not passed / asked")
        upper = (self.passed + self.undecided) / self.asked
        _require(_near(self.accuracy_upper, upper), "accuracy_upper is not (passed + undecided) / asked")
        _require(_within(self.accuracy, self.accuracy_low, self.accuracy_high), "the accuracy is outside its interval")
        _require_topics(self.topics, self.asked, self.passed)
        self._check_position()
        self._check_rivals()
        _require(len(self.open_verdicts) <= self.undecided, "more open verdicts than undecided tasks")
        _require(len(self.rejections) <= self.failed, "more rejections than failed tasks")
        _require(len(self.touched) <= self.collateral <= self.asked, "`touched` or `collateral` counts too many tasks")
        return self

    def _check_position(self) -> None:
        position = (self.rank_low, self.rank_high, self.tie_group)
        if self.unranked is not None:
            _require(position == (None, None, None), "an unranked submission has a rank or a tie group")
            return
        _require(None not in position, "a ranked submission lacks a rank or a tie group")
        low, high, group = (number or 0 for number in position)
        _require(low <= high <= self.ranked and group <= self.ranked, "a rank or the tie group exceeds its upper bound")

    def _check_rivals(self) -> None:
        names = [self.submission, *(rival.submission for rival in self.rivals)]
        _require(len(set(names)) == len(names), "a rival occurs twice, or is the submission itself")
        roles = [role for rival in self.rivals for role in rival.roles]
        _require(len(set(roles)) == len(roles), "two rivals have the same role")
        for gained in (self.alone, *(rival.gained for rival in self.rivals)):
            _require(gained.total <= self.passed, "more tasks are gained than passed")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _near(value: float, expected: float) -> bool:
    return math.isclose(value, expected, abs_tol=_ROUNDING)


def _within(value: float, low: float, high: float) -> bool:
    return low - _ROUNDING <= value <= high + _ROUNDING


def _require_topics(topics: Mapping[Topic, Tally], asked: int, passed: int) -> None:
    rows = topics.values()
    _require(all(row.passed <= row.asked for row in rows), "a topic has more passes than tasks")
    total, passes = sum(row.asked for row in rows), sum(row.passed for row in rows)
    message = f"the topics hold {passes} of {total} tasks, expected {passed} of {asked}"
    _require((total, passes) == (asked, passed), message)
