"""How large a submission may be, and how many one person may offer.

Its author chooses the bytes, so every one of these is checked before use.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evaluator.records import Record

Count = Annotated[int, Field(gt=0)]


class SubmissionLimits(Record):
    """`[tool.bashboard.limits]` of pyproject.toml; sizes in bytes.

    `command_bytes` holds for one command, `line_bytes` for one line of a `.jsonl` file, `file_bytes` for a
    whole one, `manifest_bytes` for submission.toml, `lines` for the lines of a file, `entries` for the names
    in a folder, `nesting` for arrays and objects inside each other, `problems` for those listed per file.
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
    """`[tool.bashboard.pulls]` of pyproject.toml: what one person may offer, as the NLC2CMD competition had it.

    `a_day` counts pull requests with a submission that were opened within 24 hours, `a_suite_version` submissions
    that answer one version of a suite, on the board and open.
    """

    a_day: Count = 5
    a_suite_version: Count = 100
