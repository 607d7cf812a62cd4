"""Measure the time that a job lost because other programs or other machines used its CPU.

The kernel counts how long each thread was ready to run and waited for a CPU (its run delay). The job gets this time
back at its wall-clock limit. It also gets back the time that a hypervisor took from the container's CPU (steal). The
threads of one job wait for each other too. So in each interval between two samples, a job cannot lose more than the
interval without the CPU time that the container used in it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from pathlib import Path

MAX_LOST_S = 30.0
"""The most seconds that a job gets back."""

UNSEEN_SHARE = 0.05
"""If processes that no sample saw used more CPU time than this share of the wall-clock limit, the lost time is unknown.
A process that begins and ends between two samples takes its run delay with it."""

MAX_SLACK_S = 0.5
"""The most seconds of earlier intervals that a job may still lose, because a wait may begin in an earlier interval."""

SAMPLE_SHARE = 0.05
"""Samples use at most this share of a core, so that the number of a job's threads does not matter."""

_STEAL = 8
"""The position of the steal time in the line of a CPU in /proc/stat."""

_TICKS = os.sysconf("SC_CLK_TCK")


class LostTime:
    """The time that one job lost so far, in seconds.

    `now_s` is a value of `time.monotonic`, and `cpu_s` is the CPU time of the container, here both at the start of the
    job. `jail` is the pid of the program that starts jobs. It belongs to the job while it starts it. `others` holds the
    pids of processes that do not belong to the job. `proc` is the folder /proc, in which `self` is the runner.
    """

    def __init__(
        self, now_s: float, cpu_s: float, jail: int, others: Collection[int], proc: Path = Path("/proc")
    ) -> None:
        self._start_s, self._start_cpu_s = now_s, cpu_s
        self._start_own_s = time.process_time()
        self._others, self._proc = {str(pid) for pid in others}, str(proc)
        self._last_s, self._last_cpu_s, self._slack_s = self._start_s, cpu_s, 0.0
        self._threads = {str(jail): self._times(f"{jail}/task/{jail}") or (0, 0)}
        self._runner_times = self._times("self")
        self._seen_cpu_s = self._waited_s = self._next_s = 0.0
        self._start_steal_s: float | None = None

    def sample(self, now_s: float, cpu_s: float) -> None:
        """Add the run delay since the last sample. `cpu_s` is the present CPU time of the container.

        Do nothing if the samples so far took too much time.
        """
        if now_s < self._next_s:
            return
        began_s = time.process_time()
        delay_s = self._add_threads()
        if self._start_steal_s is None:
            self._start_steal_s = self._steal_s()
            delay_s += self._delay_of_start_s()
        # the kernel counts a wait when it ends, so the time of earlier intervals may still be counted now
        room_s = max(0.0, (now_s - self._last_s) - (cpu_s - self._last_cpu_s))
        waited_s = min(delay_s, room_s + self._slack_s)
        self._slack_s = min(MAX_SLACK_S, room_s + self._slack_s - waited_s)
        self._waited_s += waited_s
        self._last_s, self._last_cpu_s = now_s, cpu_s
        self._next_s = now_s + (time.process_time() - began_s) / SAMPLE_SHARE

    def total_s(self, now_s: float, cpu_s: float) -> float:
        """Return the seconds that the job lost until now, at most MAX_LOST_S."""
        self.sample(now_s, cpu_s)
        steal_s = self._steal_s() - (self._start_steal_s or 0.0)
        unused_s = (now_s - self._start_s) - (cpu_s - self._start_cpu_s)
        return max(0.0, min(self._waited_s + steal_s, unused_s, MAX_LOST_S))

    def is_known(self, wall_s: float, cpu_s: float) -> bool:
        """Return whether the samples saw nearly all of the job. `wall_s` is the job's wall-clock limit in seconds.

        It is false if this kernel does not count run delays.
        """
        own_s = time.process_time() - self._start_own_s
        unseen_s = cpu_s - self._start_cpu_s - own_s - self._seen_cpu_s
        return self._counts_delays() and unseen_s <= UNSEEN_SHARE * wall_s

    def _counts_delays(self) -> bool:
        """Return whether this kernel counts run delays. Otherwise the file is missing or has only zeros."""
        times = self._times("self")
        return times is not None and times[0] > 0

    def _delay_of_start_s(self) -> float:
        """Return the run delay of the runner since the start of the job, in seconds. The runner starts the job."""
        before, now = self._runner_times, self._times("self")
        return (now[1] - before[1]) / 1e9 if before and now else 0.0

    def _times(self, place: str) -> tuple[int, int] | None:
        """Return the CPU time and the run delay of a thread in nanoseconds, or None if it has ended.

        `place` is the thread's folder in /proc.
        """
        words = _read(f"{self._proc}/{place}/schedstat").split()
        return (int(words[0]), int(words[1])) if len(words) == 3 else None

    def _add_threads(self) -> float:
        """Return the run delay of all threads of the job since the last call, in seconds. Add their CPU time."""
        delay_ns = 0
        for name, (cpu_ns, waited_ns) in self._thread_times():
            before_cpu_ns, before_ns = self._threads.get(name, (0, 0))
            if cpu_ns < before_cpu_ns or waited_ns < before_ns:  # another thread with the number of an earlier one
                before_cpu_ns = before_ns = 0
            self._threads[name] = cpu_ns, waited_ns
            self._seen_cpu_s += (cpu_ns - before_cpu_ns) / 1e9
            delay_ns += waited_ns - before_ns
        return delay_ns / 1e9

    def _thread_times(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield the name of each thread of the job, with its CPU time and its run delay in nanoseconds."""
        for pid in os.listdir(self._proc):
            if pid.isdigit() and pid not in self._others:
                for name in _list(f"{self._proc}/{pid}/task"):
                    if times := self._times(f"{pid}/task/{name}"):
                        yield name, times

    def _steal_s(self) -> float:
        """Return the mean steal time of the container's CPUs since the start of the machine, in seconds."""
        cpus = os.sched_getaffinity(0)
        names = {f"cpu{cpu}".encode() for cpu in cpus}
        lines = (line.split() for line in _read(f"{self._proc}/stat").splitlines() if line.startswith(b"cpu"))
        ticks = sum(int(words[_STEAL]) for words in lines if words[0] in names and len(words) > _STEAL)
        return ticks / _TICKS / len(cpus)


def _read(path: str) -> bytes:
    """Return the content of a file, or nothing if the file does not exist, because its process has ended."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(1 << 16)
    except OSError:
        return b""


def _list(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
