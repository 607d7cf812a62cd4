"""What a judge says of a command, and how it is published."""

from __future__ import annotations

from enum import StrEnum

from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug


class Outcome(StrEnum):
    """The seven verdicts."""

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"
    TIMEOUT = "timeout"
    INVALID = "invalid"
    UNANSWERED = "unanswered"
    UNDECIDED = "undecided"
    INFRA_ERROR = "infra-error"


class Step(StrEnum):
    """Which part of a judge decided."""

    SYNTAX = "syntax"
    LIMIT = "limit"
    EQUAL = "equal"
    FILES = "files"
    SHELL = "shell"
    PROCESSES = "processes"
    EXIT = "exit"
    STDERR = "stderr"
    OUTPUT = "output"
    VERIFIER = "verifier"
    SCORE = "score"
    PANEL = "panel"
    ADJUDICATION = "adjudication"
    INFRA = "infra"


class Finding(Record):
    """What a judge says of one command on one task: the outcome, and what decided it.

    `variant` names the world's variant in which it was decided; `place` the path or output line.
    `collateral` tells that the command changed, left or deleted something that no reference touches.
    """

    outcome: Outcome
    step: Step | None = None
    reason: str = ""
    variant: str | None = None
    place: Bytes | None = None
    collateral: bool = False


class Verdict(Record):
    """A verdict: a finding about one command on one task, by one judge, under its key."""

    key: Digest
    suite: Slug
    task: Identifier
    command: Digest
    judge: str
    judge_version: int
    finding: Finding
