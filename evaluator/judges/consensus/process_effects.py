"""Convert the processes that a command leaves behind to facts.

A fact is the number of processes with the same command line, user and state. A state is running or stopped. Process
ids, ages, and the difference between sleeping and running do not show the effect of a command. A zombie has already
ended and only waits for its parent, so it does not count. A stopped process differs from a running one, because some
tasks ask to stop a process.

A process chooses its own arguments (`exec -a`), so they do not prove which program it runs. The judge compares them all
the same, because the evidence has no other name of the program. For a script, such a name would only show the
interpreter.

In a world with a start script, the evidence always lists the processes. If the task does not observe processes, a fact
counts only if two or more references agree about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from evaluator.judges.consensus.effects import Difference, Dimension, EffectKey, Facet, Facts, is_taught
from evaluator.judges.reasons import shown
from evaluator.records import Evidence, Observation, Process, Step, Task


class ProcessFacet(Facet):
    """The states of the processes that the judge counts, with facets of their own in tasks that do not observe them."""

    RUNNING = 0
    STOPPED = 1
    UNOBSERVED_RUNNING = 2
    UNOBSERVED_STOPPED = 3


_STOPPED: Final = frozenset({"T", "t", "stopped"})
"""Stopped states: the kernel's letters, and the word that the runner uses for both."""

_OBSERVED: Final = (ProcessFacet.RUNNING, ProcessFacet.STOPPED)
_UNOBSERVED: Final = (ProcessFacet.UNOBSERVED_RUNNING, ProcessFacet.UNOBSERVED_STOPPED)
_ENDED: Final = frozenset({"Z", "X", "x"})


def process_facts(evidence: Evidence, task: Task) -> Facts:
    """Return the number of processes left behind for each combination of command line, state and user."""
    facets = _OBSERVED if Observation.PROCESSES in task.observe else _UNOBSERVED
    return Counter(_key(process, facets) for process in evidence.processes or () if process.state not in _ENDED)


def _key(process: Process, facets: tuple[ProcessFacet, ProcessFacet]) -> EffectKey:
    return EffectKey(process.arguments.rstrip(b"\0"), facets[process.state in _STOPPED], str(process.uid).encode())


def counts(key: EffectKey, references: Sequence[Facts]) -> bool:
    """Return whether the number of these processes counts, from the facts of all references."""
    return key.facet in _OBSERVED or is_taught(key, references)


def name_fact(key: EffectKey) -> str:
    """Describe a fact for messages. A fact is the number of processes with one command line, user and state."""
    state = "stopped" if key.facet in (_OBSERVED[1], _UNOBSERVED[1]) else "running"
    return f"{state} process {shown(key.subject.replace(bytes(1), b' '))} of user {key.part.decode()}"


def describe(difference: Difference) -> str:
    """Describe in one sentence how many processes of one kind the command leaves, and how many the references leave."""
    key, present, actual, expected = difference
    if not present:
        return f"leaves no {name_fact(key)}; every reference leaves {expected[0]}"
    wanted_counts = " or ".join(map(str, expected)) or "none"
    return f"leaves {actual} {name_fact(key)}, expected {wanted_counts}"


PROCESSES: Final = Dimension(Step.PROCESSES, None, process_facts, describe, name_fact, counts)
"""The processes left running, for tasks that observe them."""
