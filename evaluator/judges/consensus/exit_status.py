"""Convert the exit status to a fact: zero or not zero. The judge compares this fact only if the task observes it.

The exact number does not count, because each utility has its own convention (`grep` 1, `ls` 2, `find` 1).
"""

from __future__ import annotations

from typing import Final

from evaluator.judges.consensus.effects import Difference, Dimension, EffectKey, Facet, Facts
from evaluator.records import Evidence, Observation, Step, Task


class ExitFacet(Facet):
    """The only property of an exit status that the judge compares."""

    SUCCESS = 0


def status_facts(evidence: Evidence, task: Task) -> Facts:
    """Return one fact: whether the command exited with status 0."""
    return {EffectKey(b"", ExitFacet.SUCCESS): evidence.status == 0}


def name_fact(key: EffectKey) -> str:
    """Return `exit status`, the name for the exit status in messages."""
    return "exit status"


def describe(difference: Difference) -> str:
    """Describe in one sentence how the command ends, and how the references end: with status zero or not."""
    actual, expected = ("zero", "another status") if difference.actual else ("a status that is not zero", "zero")
    return f"ends with {actual}, expected {expected}"


STATUS: Final = Dimension(Step.EXIT, Observation.EXIT, status_facts, describe, name_fact)
"""The exit status, for tasks that observe it."""
