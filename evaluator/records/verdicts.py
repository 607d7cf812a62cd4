"""Define a judge's verdict on a command, and the stored form of the verdict."""

from __future__ import annotations

from enum import StrEnum

from evaluator.records.record import Bytes, Digest, Identifier, Record, Slug


class Outcome(StrEnum):
    """The possible outcomes of a candidate. A candidate behind one that passes is *not run*, and no judge sees it."""

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"
    TIMEOUT = "timeout"
    INVALID = "invalid"
    UNANSWERED = "unanswered"
    UNDECIDED = "undecided"
    INFRA_ERROR = "infra-error"
    NOT_RUN = "not-run"


class Step(StrEnum):
    """The part of a judge that decided the verdict, such as the comparison of files."""

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
    """A judge's verdict on one command on one task: the outcome and its reason.

    `variant` names the variant of the task's world that decided the outcome. `place` is the path or output line that
    decided the outcome. `collateral` is true if the command created, changed or deleted something that no
    reference of the task touches. `rule` names the rule for open tasks that decided, and is empty for other tasks.
    """

    outcome: Outcome
    step: Step | None = None
    reason: str = ""
    variant: str | None = None
    place: Bytes | None = None
    collateral: bool = False
    rule: str = ""


class Verdict(Record):
    """A stored verdict: one judge's finding on one command on one task, with the cache key of the verdict."""

    key: Digest
    suite: Slug
    task: Identifier
    command: Digest
    judge: str
    judge_version: int
    finding: Finding
