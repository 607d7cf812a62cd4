"""What a study of how long people take writes down, and nothing else."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from evaluator.records.record import Identifier, Record, Slug, VersionText

Participant = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
"""Drawn by chance for one sitting: it says which lines belong together, and of whom nothing."""


class Measurement(Record):
    """One line of a study's file: one participant, one task, how long it took.

    `seconds` run from when the instruction was shown to Enter of the command that `passed`, less the time in which
    commands were executed and the participant could only wait; where the task was skipped, until then. There is
    no date, name, address or command in it. Every line carries its format, so that files are merged by `cat`.
    """

    format: Literal[1]
    participant: Participant
    suite: Slug
    version: VersionText
    task: Identifier
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    passed: bool
