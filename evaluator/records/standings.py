"""Define the records of the board: graded candidates, and the rank of each submission."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from evaluator.records.metrics import ErrorClass, RunMetrics, Share, SubmissionMetrics, Tally, TextMetrics, Usage
from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug, VersionText
from evaluator.records.submissions import Method
from evaluator.records.verdicts import Finding


class Result(Record):
    """One candidate with its finding.

    `rank` is the candidate's place in the submission's answer to the task, counted from 1. A task without an answer
    gets one result of rank 1 with the outcome `unanswered` and no `command`. `nlc2cmd`, in [-1, 1], is the NLC2CMD
    score of the command against the task's references. `text` compares the command's text with the references. `run`
    describes the command's first run, and is None if the command did not run. `usage` is the submission's own report
    for the task. `error` is the class of a command that did not pass.
    """

    submission: Slug
    suite: Slug
    task: Identifier
    rank: Annotated[int, Field(ge=1)]
    command: Bytes | None
    confidence: Share
    finding: Finding
    nlc2cmd: Annotated[float, Field(ge=-1, le=1)]
    text: TextMetrics | None = None
    run: RunMetrics | None = None
    usage: Usage | None = None
    error: ErrorClass | None = None


class Unranked(StrEnum):
    """The reason for listing a submission without a rank. If several reasons apply, the first in this class is used."""

    CONTROL = "control"
    NOT_ASKED = "not-asked"
    INFRA_ERRORS = "infra-errors"


class DetectableDifference(Record):
    """The smallest difference in accuracy between two submissions that a board of `tasks` tasks can detect.

    `discordance` is the assumed share of tasks that only one of the two submissions passes. `difference` is the
    smallest difference that McNemar's test detects with a power of 0.8 at level 0.05. It is None if the board has too
    few tasks.
    """

    tasks: Annotated[int, Field(ge=1)]
    discordance: Share
    difference: Share | None


class JudgedBy(Record):
    """The judge, suite version and environment of the published verdicts of a submission's row on the board.

    `fingerprint` identifies the environment. `differs` lists the parts that are not current. The current environment is
    the environment of most rows. `base` describes the base image if the suite's base replaced another distribution.
    """

    judge: str
    judge_version: int
    suite_version: VersionText
    fingerprint: Digest
    differs: tuple[Literal["judge", "suite", "environment"], ...] = ()
    base: str | None = None


class AnswersOf(Record):
    """The submission that had the answers of another one before, and the share of the answers that are equal."""

    submission: Slug
    share: Share


class TierStanding(Record):
    """A submission's place on the tasks of one tier, with the meaning of the same fields of `Standing`.

    A submission that is not ranked on the board has no ranks and no tie group here.
    """

    asked: Annotated[int, Field(ge=1)]
    passed: Annotated[int, Field(ge=0)]
    accuracy: Share
    accuracy_low: Share
    accuracy_high: Share
    rank_low: int | None = None
    rank_high: int | None = None
    tie_group: Annotated[int, Field(ge=1)] | None = None


class Standing(Record):
    """A submission's place on one suite's board.

    Execution `accuracy` is passed ÷ asked with a Wilson 95 % interval. `accuracy_upper` counts every undecided task as
    passed. `rank_low` and `rank_high` are the best and worst rank in a bootstrap over tasks. If a standing is not
    `ranked`, `unranked` gives the reason, and there are no ranks and no tie group. `not_asked` counts the tasks that
    are newer than the suite version that the submission answers. `figures` are metrics that do not affect the rank.

    `tie_group` is a number from 1 for the best group. The submissions in a group do not differ significantly from the
    best submission of the group. The best submission of a group differs significantly from the best submission of the
    previous group. `compared_with` names the best submission of the own group. For the best submission itself, it names
    the best submission of the previous group. `only_this` and `only_other` count the tasks that only one of the two
    submissions passes. `p_value` is the exact p-value of McNemar's test, and `p_adjusted` is adjusted by Holm's method
    for all comparisons with the same best submission.

    `judged_by` names the judge of a row of published verdicts. It is not set for a row of this machine's verdicts.

    `tiers` has the standing on each tier, if the suite has tiers.

    `answers_of` names the earlier submission of another account that has nearly all of its answers. It is set only for
    the site, which knows the other submissions.

    `authors`, `models`, `parameters`, `licence` and `released` come from the manifest. `added` is the day on which the
    submission's folder entered the repository, or None if Git does not tell. `usd_per_task` is the mean cost of a task
    in US dollars: the manifest's prices times the mean numbers of tokens that the submission reports.

    Format 2 added `format` itself, tie groups, `unranked` and `figures`. Format 3 added `judged_by`. Format 4 added
    `tiers`. Format 5 added error classes, side effects, sessions and the distribution of the latency to `figures`.
    Format 6 added the fields from `authors` to `usd_per_task`, and the mean numbers of tokens to `figures`. All these
    fields have a default. Format 7 removed the mean average precision (`map`) from `figures`, so a row of an earlier
    format is refused. Format 8 added `unreadable` to `figures`, and `answers_of`, both with a default.
    """

    newest_format: ClassVar[int] = 8

    format: Literal[7, 8] = 8
    submission: Slug
    suite: Slug
    suite_version: VersionText
    system: str
    method: Method
    open_weights: bool
    authors: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    parameters: Annotated[int, Field(gt=0)] | None = None
    licence: str | None = None
    released: date | None = None
    added: date | None = None
    usd_per_task: Annotated[float, Field(ge=0)] | None = None
    ranked: bool
    asked: Annotated[int, Field(ge=0)]
    passed: Annotated[int, Field(ge=0)]
    failed: Annotated[int, Field(ge=0)]
    timeout: Annotated[int, Field(ge=0)]
    invalid: Annotated[int, Field(ge=0)]
    unanswered: Annotated[int, Field(ge=0)]
    undecided: Annotated[int, Field(ge=0)]
    infra_errors: Annotated[int, Field(ge=0)]
    accuracy: Share
    accuracy_low: Share
    accuracy_high: Share
    accuracy_upper: Share
    accuracy_at: Mapping[int, Share]
    nlc2cmd: Annotated[float, Field(ge=-1, le=1)]
    collateral: Share
    rank_low: int | None
    rank_high: int | None
    unranked: Unranked | None = None
    not_asked: Annotated[int, Field(ge=0)] = 0
    tie_group: Annotated[int, Field(ge=1)] | None = None
    compared_with: Slug | None = None
    only_this: Annotated[int, Field(ge=0)] | None = None
    only_other: Annotated[int, Field(ge=0)] | None = None
    p_value: Share | None = None
    p_adjusted: Share | None = None
    topics: Mapping[str, Tally]
    tiers: Mapping[str, TierStanding] = Field(default_factory=dict)
    figures: SubmissionMetrics = SubmissionMetrics()
    judged_by: JudgedBy | None = None
    answers_of: AnswersOf | None = None
