"""Give each core to one job at a time. A job whose processes all sleep yields its core to another job.

A command that waits, for example for a time or for another process, needs no core. So there are several worker slots
for each core. A slot holds its core from job to job. While all processes of its job sleep, the next slot of the core
executes a job. When a process wakes, both jobs run for a while, and no further job starts on this core before one of
them has ended or sleeps again. Slots with lower numbers come first, because their workers have built more worlds. A
slot without a worker begins only when the core has been free for a while in all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

MIN_IN_FLIGHT: Final = 3
MAX_IN_FLIGHT: Final = 16
"""The smallest and the largest number of worker slots for each core."""


def jobs_in_flight(available_mb: int, cores: int, worker_mb: int) -> int:
    """Return the number of worker slots for each core, so that all workers together fit into the available memory.

    This is the maximum number of a core's jobs that have begun and not ended. All but one of them sleep. `worker_mb` is
    the memory limit of one worker. The result is at least MIN_IN_FLIGHT and at most MAX_IN_FLIGHT.

    >>> jobs_in_flight(16_000, 4, 960), jobs_in_flight(24_000, 2, 960), jobs_in_flight(2_000, 2, 960)
    (4, 12, 3)
    """
    return max(MIN_IN_FLIGHT, min(MAX_IN_FLIGHT, available_mb // (cores * worker_mb)))


START_DELAY_S: Final = 0.5
"""A slot runs its first job only after its core was free for so long in all, because the start of a container and its
worlds takes as much time as many commands."""


class IdleTime(NamedTuple):
    """The share of the time in which a core had no job that was awake, and this time in seconds."""

    share: float
    of_s: float


class Cores:
    """The cores of a pool of workers. Slot number i belongs to core i modulo the number of cores.

    `clock` returns seconds. `start_delay_s` is the time for which a core is free, in all, before a further slot begins.
    """

    def __init__(
        self,
        cores: int,
        slots: int,
        clock: Callable[[], float] = time.monotonic,
        start_delay_s: float = START_DELAY_S,
    ) -> None:
        self._condition = threading.Condition()
        self._running: list[set[int]] = [set() for _ in range(cores)]
        self._waiting: list[set[int]] = [set() for _ in range(cores)]
        self._asleep: list[set[int]] = [set() for _ in range(cores)]
        self._core_of: Sequence[int] = [slot % cores for slot in range(slots)]
        self._clock, self._start_delay_s = clock, start_delay_s
        self._started = set(range(cores))
        self._freed_s, self._free_s = [clock()] * cores, [0.0] * cores
        self._busy: set[int] = set()
        self._is_open, self._last_s, self._busy_s, self._open_s = False, 0.0, 0.0, 0.0
        self._is_ended = False

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time of the context for `idle_time`."""
        with self._condition:
            self._is_open, self._is_ended, self._last_s = True, False, self._clock()
            self._freed_s, self._free_s = [self._last_s] * len(self._running), [0.0] * len(self._running)
        try:
            yield
        finally:
            with self._condition:
                self._count()
                self._is_open = False

    def end(self) -> None:
        """Let no slot wait for its core any more, because no job is left. The next `counted` context lets them wait."""
        with self._condition:
            self._is_ended = True
            self._condition.notify_all()

    def idle_time(self) -> IdleTime:
        """Return the share of the counted time in which a core had no job that was awake, as the mean of all cores."""
        with self._condition:
            cores_s = self._open_s * len(self._running)
            return IdleTime(1 - self._busy_s / cores_s if cores_s else 0.0, self._open_s)

    def _count(self) -> None:
        """Add the time since the last change. The caller holds the lock, and calls this before each change."""
        now_s = self._clock()
        if self._is_open:
            elapsed_s = now_s - self._last_s
            self._open_s += elapsed_s
            self._busy_s += elapsed_s * len({self._core_of[slot] for slot in self._busy})
        self._last_s = now_s

    def acquire(self, slot: int) -> None:
        """Wait until the slot may run a job on its core, or until `end`.

        A slot that has the core keeps it if no earlier slot waits.
        """
        core = self._core_of[slot]
        running, waiting = self._running[core], self._waiting[core]
        with self._condition:
            self._count()
            self._busy.discard(slot)
            self._asleep[core].discard(slot)
            if running == {slot} and min(waiting, default=slot) >= slot:
                return
            self._free(slot)
            waiting.add(slot)
            while not self._is_ended and (running or min(waiting) != slot or (delay_s := self._delay_s(slot)) > 0):
                self._condition.wait(None if running or min(waiting) != slot else delay_s)
            waiting.discard(slot)
            self._take(slot)
            if slot not in self._started:
                self._started.add(slot)
                self._free_s[core] = 0.0

    def _take(self, slot: int) -> None:
        """Add the slot to the slots that use its core. Count the time for which the core was free."""
        core = self._core_of[slot]
        if not self._running[core]:
            self._free_s[core] += self._clock() - self._freed_s[core]
        self._running[core].add(slot)

    def _free(self, slot: int) -> None:
        """Remove the slot from the slots that use its core, and wake the waiting ones."""
        core = self._core_of[slot]
        if self._running[core] == {slot}:
            self._freed_s[core] = self._clock()
        self._running[core].discard(slot)
        self._condition.notify_all()

    def _delay_s(self, slot: int) -> float:
        """Return the seconds that the slot's core, which is free now, must still be free before the slot begins."""
        if slot in self._started:
            return 0.0
        core = self._core_of[slot]
        return self._freed_s[core] + (self._start_delay_s - self._free_s[core]) - self._clock()

    def begin(self, slot: int, *, alone: bool = False) -> None:
        """Note that the slot, which has its core, begins a job. With `alone`, wait for the end of the core's jobs."""
        core = self._core_of[slot]
        with self._condition:
            if alone:
                self._condition.wait_for(lambda: self._running[core] == {slot} and not self._asleep[core])
            self._count()
            self._busy.add(slot)

    def release(self, slot: int) -> None:
        """Give the slot's core back while its job sleeps."""
        core = self._core_of[slot]
        with self._condition:
            self._count()
            self._busy.discard(slot)
            self._asleep[core].add(slot)
            self._free(slot)

    def resume(self, slot: int) -> None:
        """Note that a process of the slot's job is awake. It does not wait, because the process already runs."""
        core = self._core_of[slot]
        with self._condition:
            self._count()
            self._busy.add(slot)
            self._asleep[core].discard(slot)
            self._take(slot)

    def leave(self, slot: int) -> None:
        """Give the slot's core back at the end of its work."""
        core = self._core_of[slot]
        with self._condition:
            self._count()
            self._busy.discard(slot)
            self._asleep[core].discard(slot)
            self._free(slot)
