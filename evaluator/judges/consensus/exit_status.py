"""The exit status as a fact: zero or not, for tasks that observe it.

Which number beyond zero is a utility's own habit (`grep` 1, `ls` 2, `find` 1), so it is not compared.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from evaluator.judges.consensus.effects import Difference, Dimension, EffectKey, Facts
from evaluator.records import Evidence, Observation, Step, Task


class ExitFacet(IntEnum):
    """The one thing compared of an exit status."""

    SUCCESS = 0


def status_facts(evidence: Evidence, task: Task) -> Facts:
    """Whether the command ended with 0."""
    return {EffectKey(b"", ExitFacet.SUCCESS): evidence.status == 0}


def name_fact(key: EffectKey) -> str:
    """The field's name, for people."""
    return "exit status"


def describe(difference: Difference) -> str:
    """One sentence: how the command ended, and how the references do."""
    found, wanted = ("zero", "another status") if difference.found else ("a status that is not zero", "zero")
    return f"ends with {found}, expected {wanted}"


STATUS: Final = Dimension(Step.EXIT, Observation.EXIT, status_facts, describe, name_fact)
"""The exit status, for tasks that observe it."""
