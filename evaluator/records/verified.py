"""Define the records of verified tasks, which say for which tasks `bashboard suite verify` found no problem."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from evaluator.records.record import Digest, Identifier, Record, Slug


class VerificationHeader(Record):
    """First line of `fixtures/<suite>/verified.jsonl`: what all verified tasks of the file depend on.

    `base` is the distribution and the release. `environment` is the digest of the base's packages and of the shell,
    limits, clock, variables, user and folders that `suite.toml` declares. `runner` is the digest of the programs inside
    the sandbox. The next lines are records of tasks, sorted by task. If the header differs from that of this checkout,
    no record is current.
    """

    format: Literal[1]
    suite: Slug
    base: Annotated[str, StringConstraints(max_length=200)]
    environment: Digest
    judge: Annotated[str, StringConstraints(max_length=100)]
    judge_version: Annotated[int, Field(ge=0)]
    runner: Digest


class VerifiedTask(Record):
    """A task for which every expectation held.

    `digest` is the digest of the task's fields on which a verification depends, and `world` that of its world. If one
    of them differs from that of this checkout, the record is not current.
    """

    task: Identifier
    digest: Digest
    world: Digest
