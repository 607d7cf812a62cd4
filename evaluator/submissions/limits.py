"""The size limits of a submission, and the limits on the number of submissions of one contributor.

The bytes of a submission are untrusted, so every limit is checked before the bytes are used.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

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
