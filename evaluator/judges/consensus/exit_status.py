"""The exit status, compared as zero or not zero, for tasks that observe it.

The exact number is not compared, because each utility has its own convention (`grep` 1, `ls` 2, `find` 1).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from evaluator.judges.consensus.effects import Difference, Dimension, EffectKey, Facts
from evaluator.records import Evidence, Observation, Step, Task


class ExitFacet(IntEnum):
    """The only compared property of an exit status."""

    SUCCESS = 0


def status_facts(evidence: Evidence, task: Task) -> Facts:
    """Return whether the command exited with 0, as a fact."""
    return {EffectKey(b"", ExitFacet.SUCCESS): evidence.status == 0}


def name_fact(key: EffectKey) -> str:
    """Return the field's name for messages."""
    return "exit status"


def describe(difference: Difference) -> str:
    """Describe in one sentence how the command and the references exit."""
    actual, expected = ("zero", "another status") if difference.actual else ("a status that is not zero", "zero")
    return f"ends with {actual}, expected {expected}"


STATUS: Final = Dimension(Step.EXIT, Observation.EXIT, status_facts, describe, name_fact)
"""The exit status, for tasks that observe it."""
