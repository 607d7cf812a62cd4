"""What a maintainer has decided about one command on one task."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import StringConstraints

from evaluator.records.record import Digest, Identifier, Record
from evaluator.records.verdicts import Outcome


class Ruling(StrEnum):
    """What can be ruled."""

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"

    @property
    def outcome(self) -> Outcome:
        """The verdict it makes."""
        return Outcome.PASS if self is Ruling.PASS else Outcome.FAIL


class Adjudication(Record):
    """One line of `fixtures/overrides/<suite>/adjudications.jsonl`: a ruling that outranks every judge, and why.

    It names the task's digest and the command's, so it holds for everyone who gave that command, and ends with the
    task's wording. `task` is for people.
    """

    format: Literal[1]
    task: Identifier
    task_digest: Digest
    command_digest: Digest
    ruling: Ruling
    because: Annotated[str, StringConstraints(min_length=8, max_length=500, strip_whitespace=True)]
