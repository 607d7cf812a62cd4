"""The size limits of a submission, and the limits on the number of submissions of one contributor.

The bytes of a submission are untrusted, so every limit is checked before the bytes are used.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, Field, ValidationInfo, field_validator

from evaluator.records import Record

Count = Annotated[int, Field(gt=0)]


class SubmissionLimits(Record):
    """The limits on one submission, in `[tool.bashboard.limits]` of pyproject.toml. Sizes are in bytes.

    command_bytes   size of one command
    line_bytes      size of one line of a `.jsonl` file
    file_bytes      size of a `.jsonl` file
    manifest_bytes  size of submission.toml
    lines           number of lines of a file
    entries         number of names in the folder
    nesting         depth of arrays and objects, and number of parts of a TOML key
    problems        number of errors, and of warnings, that are listed for a file
    """

    command_bytes: Count = 16_384
    line_bytes: Count = 262_144
    file_bytes: Count = 16_777_216
    manifest_bytes: Count = 65_536
    lines: Count = 100_000
    entries: Count = 64
    nesting: Count = 16
    problems: Count = 1_000


class PullLimits(Record):
    """The limits for one contributor, in `[tool.bashboard.pulls]` of pyproject.toml. NLC2CMD had similar limits.

    `a_day` is the maximum number of pull requests with a submission in 24 hours. `a_suite_version` is the maximum
    number of submissions for one version of a suite. Open pull requests count too.
    """

    a_day: Count = 5
    a_suite_version: Count = 100


class FinalPhase(Record):
    """A final phase, in `[tool.bashboard.final]` of pyproject.toml, as the competition NLC2CMD had one.

    Submissions that are merged from `starts` until `ends` are held: only their form is checked, no command of theirs is
    executed, and no result of theirs is shown. After `ends`, one run of the publish workflow scores all of them.
    `a_day` is the maximum number of pull requests with a submission in 24 hours, and `submissions` the maximum number
    of merged and open ones in the phase, both for one contributor.
    """

    starts: AwareDatetime
    ends: AwareDatetime
    a_day: Count = 1
    submissions: Count = 10

    @field_validator("ends")
    @classmethod
    def _ends_after_it_starts(cls, ends: datetime, info: ValidationInfo) -> datetime:
        starts = info.data.get("starts")
        if starts is not None and ends <= starts:
            raise ValueError(f"expected a time after the start of the phase, {starts.isoformat()}")
        return ends

    def is_running(self, now: datetime) -> bool:
        """Return whether the phase has started and has not ended."""
        return self.starts <= now < self.ends

    def holds(self, merged: datetime, now: datetime) -> bool:
        """Return whether a submission with this time of its last merge is held now."""
        return self.is_running(now) and self.starts <= merged
