"""Define the record of a maintainer's decision about one command on one task."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from pydantic import StringConstraints, model_validator

from evaluator.records.record import Bytes, Digest, Identifier, Record
from evaluator.records.submissions import command_digest
from evaluator.records.verdicts import Outcome


class Ruling(StrEnum):
    """A maintainer's decision on a command for a task: the command passes or fails."""

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"

    @property
    def outcome(self) -> Outcome:
        """Return the outcome that this ruling gives to the command."""
        return Outcome.PASS if self is Ruling.PASS else Outcome.FAIL


class Adjudication(Record):
    """One line of `fixtures/overrides/<suite>/adjudications.jsonl`: a ruling that overrides every judge.

    The digest of the task and the command identify the question. So the ruling applies to every submission with that
    command in any spelling. It no longer applies after the task is reworded. `task` is the task's name for human
    readers. Format 2 added `command`. A line of format 1 has only its digest, and applies to that spelling alone.
    """

    newest_format: ClassVar[int] = 2

    format: Literal[1, 2]
    task: Identifier
    task_digest: Digest
    command_digest: Digest
    command: Bytes | None = None
    ruling: Ruling
    because: Annotated[str, StringConstraints(min_length=8, max_length=500, strip_whitespace=True)]

    @model_validator(mode="after")
    def _check_command(self) -> Self:
        if (self.command is None) != (self.format == 1):
            raise ValueError("expected a command in format 2, and none in format 1")
        if self.command is not None and command_digest(self.command) != self.command_digest:
            raise ValueError("command_digest: expected the SHA-256 of the bytes of `command`")
        return self
