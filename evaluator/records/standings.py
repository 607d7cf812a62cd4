"""What the board shows: graded candidates, and a submission's place among the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from evaluator.records.base import Bytes, Identifier, Record, Slug, VersionText
from evaluator.records.figures import Figures, RunFigures, Share, Tally, TextFigures, Usage
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
    text: TextFigures | None = None
    run: RunFigures | None = None
    usage: Usage | None = None


class Standing(Record):
    """A submission's place on one suite's board.

    Execution `accuracy` is passed ÷ asked with a Wilson 95 % interval; `accuracy_upper` counts every
    undecided task as passed. `rank_low` and `rank_high` are the best and worst place of a bootstrap over
    tasks. A standing that is not `ranked` is incomplete (infra-errors) and has no ranks. `figures` do not rank.
    """

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
    topics: Mapping[str, Tally]
    figures: Figures = Figures()
