"""Define the file format of a study that measures the time people need for a task. A study stores no other data."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from evaluator.records.record import Identifier, Record, Slug, VersionText

Participant = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
"""A random id for one session. It links the lines of a session and does not identify the person."""


class Measurement(Record):
    """One line of a study's file: one participant, one task, and the time taken.

    `seconds` is the time from the display of the instruction until the participant enters a command that passes, or
    skips the task. The time in which the participant waited for a running command is subtracted. The record contains no
    date, name, address or command. Every line contains the format number, so that `cat` can merge files.
    """

    format: Literal[1]
    participant: Participant
    suite: Slug
    version: VersionText
    task: Identifier
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    passed: bool
