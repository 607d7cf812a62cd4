"""The processes left running, as facts: how many of each command line and user, running or stopped.

Process numbers, ages and the difference between sleeping and running say nothing of what a command left.
A zombie has ended and waits for its parent only, so it is not left running; a stopped process is another
thing than a running one, because stopping one is what tasks ask for.
"""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import Final

from evaluator.judges.consensus.effects import Difference, Dimension, EffectKey, Facts
from evaluator.judges.reasons import shown
from evaluator.records import Evidence, Observation, Process, Step, Task


class ProcessFacet(IntEnum):
    """In which state processes are counted."""

    RUNNING = 0
    STOPPED = 1


_STOPPED: Final = frozenset({"T", "t", "stopped"})
"""States in the kernel's letters, and in the runner's word for both."""

_ENDED: Final = frozenset({"Z", "X", "x"})


def process_facts(evidence: Evidence, task: Task) -> Facts:
    """How many processes there are of each command line, state and user."""
    return Counter(_key(process) for process in evidence.processes or () if process.state not in _ENDED)


def _key(process: Process) -> EffectKey:
    facet = ProcessFacet.STOPPED if process.state in _STOPPED else ProcessFacet.RUNNING
    return EffectKey(process.arguments.rstrip(b"\0"), facet, str(process.uid).encode())


def name_fact(key: EffectKey) -> str:
    """Which processes, for people."""
    state = ProcessFacet(key.facet).name.lower()
    return f"{state} process {shown(key.subject.replace(bytes(1), b' '))} of user {key.part.decode()}"


def describe(difference: Difference) -> str:
    """One sentence: how many such processes are left, and how many the references leave."""
    key, present, found, expected = difference
    if not present:
        return f"leaves no {name_fact(key)}; every reference leaves {expected[0]}"
    wanted = " or ".join(map(str, expected)) or "none"
    return f"leaves {found} {name_fact(key)}, expected {wanted}"


PROCESSES: Final = Dimension(Step.PROCESSES, Observation.PROCESSES, process_facts, describe, name_fact)
"""The processes left running, for tasks that observe them."""
