"""What the board shows: graded candidates, and a submission's place among the others."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from evaluator.records.metrics import RunMetrics, Share, SubmissionMetrics, Tally, TextMetrics, Usage
from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug, VersionText
from evaluator.records.submissions import Method
from evaluator.records.verdicts import Finding


class Result(Record):
    """One candidate with its finding.

    Every task asked has a result of rank 1; where nothing was given its `command` is None and its outcome
    unanswered. `nlc2cmd` is the NLC2CMD score of the command against the task's references, in [-1, 1]. `text`
    compares it with them, `run` says how it ran (None where nothing was executed, or not in every variant), and
    `usage` what the submission reports of answering the task.
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


class Unranked(StrEnum):
    """Why a submission is listed without a rank; the first reason that holds."""

    CONTROL = "control"
    NOT_ASKED = "not-asked"
    INFRA_ERRORS = "infra-errors"


class DetectableDifference(Record):
    """What a board of so many tasks tells apart, where two submissions differ on a share of them, `discordance`.

    `difference` is the smallest one in accuracy that the test finds with a power of 0.8 at 0.05; None where it finds
    none.
    """

    tasks: Annotated[int, Field(ge=1)]
    discordance: Share
    difference: Share | None


class JudgedBy(Record):
    """By what the published verdicts of a row were given; `fingerprint` is that of the environment.

    `differs` names what of it is not as it is today: another `judge` or version of it, another version of the `suite`,
    another `environment` than most rows of the board were judged in.
    """

    judge: str
    judge_version: int
    suite_version: VersionText
    fingerprint: Digest
    differs: tuple[Literal["judge", "suite", "environment"], ...] = ()


class Standing(Record):
    """A submission's place on one suite's board.

    Execution `accuracy` is passed ÷ asked with a Wilson 95 % interval; `accuracy_upper` counts every
    undecided task as passed. `rank_low` and `rank_high` are the best and worst place of a bootstrap over
    tasks. A standing that is not `ranked` says why in `unranked`, and has neither ranks nor a tie group; tasks that are
    newer than the version it answered are `not_asked`. `figures` do not rank.

    Submissions of one `tie_group`, counted from 1, are not told from the best of it. `compared_with` is that best, or
    for the best of a later group the best of the group above, from which it is told apart; `only_this` and
    `only_other` are the tasks that one of the two passes and the other does not, `p_value` is McNemar's exact one of
    them, `p_adjusted` the same by Holm for all comparisons made with that best.

    A row of published verdicts says in `judged_by` by what they were given.

    Format 2 brought `format` itself, tie groups, why a standing is unranked, and `figures`, format 3 `judged_by`; all
    of it has a default, so a row of an earlier format still reads.
    """

    newest_format: ClassVar[int] = 3

    format: Literal[2, 3] = 3
    submission: Slug
    suite: Slug
    suite_version: VersionText
    system: str
    method: Method
    open_weights: bool
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
    figures: SubmissionMetrics = SubmissionMetrics()
    judged_by: JudgedBy | None = None
