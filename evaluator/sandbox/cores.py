"""Give each core to one job at a time. A job whose processes all sleep yields its core to another job.

A command that waits, for example for a time or for another process, needs no core. So there are several worker slots
for each core. A slot holds its core from job to job. While all processes of its job sleep, the next slot of the core
executes a job. When a process wakes, both jobs run for a while, and no further job starts on this core before one of
them has ended or sleeps again. Slots with lower numbers come first, because their workers have built more worlds.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

IN_FLIGHT: Final = 3
"""The number of worker slots for each core, and so the maximum number of its jobs that have begun and not ended."""


class Cores:
    """The cores of a pool of workers. Slot number i belongs to core i modulo the number of cores."""

    def __init__(self, cores: int, slots: int) -> None:
        self._condition = threading.Condition()
        self._running: list[set[int]] = [set() for _ in range(cores)]
        self._waiting: list[set[int]] = [set() for _ in range(cores)]
        self._core_of: Sequence[int] = [slot % cores for slot in range(slots)]

    def acquire(self, slot: int) -> None:
        """Wait until the slot may run a job on its core. A slot that has the core keeps it if no earlier slot waits."""
        core = self._core_of[slot]
        running, waiting = self._running[core], self._waiting[core]
        with self._condition:
            if running == {slot} and min(waiting, default=slot) >= slot:
                return
            running.discard(slot)
            waiting.add(slot)
            self._condition.notify_all()
            self._condition.wait_for(lambda: not running and min(waiting) == slot)
            waiting.discard(slot)
            running.add(slot)

    def release(self, slot: int) -> None:
        """Give the slot's core back, at the end of its work or while its job sleeps."""
        with self._condition:
            self._running[self._core_of[slot]].discard(slot)
            self._condition.notify_all()

    def resume(self, slot: int) -> None:
        """Note that a process of the slot's job is awake. It does not wait, because the process already runs."""
        with self._condition:
            self._running[self._core_of[slot]].add(slot)
