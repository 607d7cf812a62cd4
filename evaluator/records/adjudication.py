"""Define the record of a maintainer's decision about one command on one task."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import StringConstraints

from evaluator.records.record import Digest, Identifier, Record
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

    The digests identify the task and the command. So the ruling applies to every submission with that command. It no
    longer applies after the task is reworded. `task` is the task's name for human readers.
    """

    format: Literal[1]
    task: Identifier
    task_digest: Digest
    command_digest: Digest
    ruling: Ruling
    because: Annotated[str, StringConstraints(min_length=8, max_length=500, strip_whitespace=True)]
