"""List the processes that still run after a command. The runner reads /proc outside the command's pid namespace."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evaluator.sandbox.runner.protocol import json_of
from evaluator.sandbox.runner.reading_budget import line_of

UNCHANGED_S = 0.1
GIVE_UP_S = 2.0
INTERVAL_S = 0.02
STARTED_S = 0.1
MAX_ARGUMENTS, MAX_ALL_ARGUMENTS = 4 << 10, 1 << 20
"""The most bytes of arguments of one process, and of all processes of a job in JSON."""

_STATES = {b"T": "stopped", b"t": "stopped"}
_AWAKE = (b"R", b"D")
_TICKS = os.sysconf("SC_CLK_TCK")


def _read(pid: str, name: str, size: int = -1) -> bytes:
    """Return the content of a file of a process, at most `size` bytes, or nothing if the process has ended."""
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            return file.read(size)
    except OSError:
        return b""


def _pids() -> list[str]:
    """Return the pids of all processes of the container except the runner."""
    own = str(os.getpid())
    return [name for name in os.listdir("/proc") if name.isdigit() and name != own]


def _state(stat: bytes) -> bytes:
    return stat.rpartition(b") ")[2][:1]


@dataclass(frozen=True, slots=True)
class _Process:
    """A process of the job: its pid in the pid namespace of the job, its record, and whether it is starting."""

    number: int
    record: dict[str, Any]
    is_starting: bool


def _describe(pid: str) -> _Process | None:
    """Return a process of the job.

    Return None for the runner's own processes, for the job's process 1, and for dead processes.
    """
    lines = _read(pid, "status").split(b"\n")
    status = dict(line.split(b":\t", 1) for line in lines if line.startswith((b"NSpid:", b"State:", b"Uid:")))
    numbers = status.get(b"NSpid", b"").split()
    if len(numbers) < 2 or numbers[-1] == b"1" or status[b"State"][:1] in (b"Z", b"X"):
        return None
    arguments = _read(pid, "cmdline", MAX_ARGUMENTS + 1)
    record = {
        "arguments": json_of(arguments[:MAX_ARGUMENTS].removesuffix(b"\0")),
        **({"truncated": True} if len(arguments) > MAX_ARGUMENTS else {}),
        "uid": int(status[b"Uid"].split()[0]),
        "state": _STATES.get(status[b"State"][:1], "running"),
    }
    return _Process(int(numbers[-1]), record, status[b"State"][:1] in _AWAKE and _is_starting(pid))


def _is_starting(pid: str) -> bool:
    """Return whether a process is perhaps still starting.

    This is assumed if the process is runnable or waits for the disk, and has used less CPU time than the start of a
    program needs.
    """
    stat = _read(pid, "stat")
    fields = stat.rpartition(b")")[2].split()
    return _state(stat) in _AWAKE and int(fields[11]) + int(fields[12]) < STARTED_S * _TICKS


class _Looks:
    """Repeated looks at the job's processes. A process that has not run since the last look is not read again."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[bytes, _Process | None]] = {}

    def running(self) -> tuple[dict[int, dict[str, Any]], bool]:
        """Return a mapping from pids to the records of the job's processes, and whether any process is starting.

        The pids are those of the job's pid namespace.
        """
        seen = {}
        for pid in _pids():
            times, known = _read(pid, "schedstat"), self._seen.get(pid)
            is_counted = times[:2] not in (b"", b"0 ")  # not every kernel counts the times
            seen[pid] = known if known and is_counted and known[0] == times else (times, _describe(pid))
        self._seen = seen
        processes = [process for _, process in seen.values() if process is not None]
        return {process.number: process.record for process in processes}, any(each.is_starting for each in processes)


def are_asleep() -> bool:
    """Return whether no process of the job is runnable or waits for the disk."""
    return not any(_state(_read(pid, "stat")) in _AWAKE for pid in _pids())


def settled_processes(wait: Callable[[], None] = lambda: None) -> list[dict[str, Any]]:
    """Wait until all processes of the job have started and none has changed for 100 ms, but for at most 2 s.

    Return the records of the processes at that time, sorted by pid. Call `wait` at each look.
    """
    deadline, looks = time.monotonic() + GIVE_UP_S, _Looks()
    (processes, _), changed = looks.running(), time.monotonic()
    while time.monotonic() < min(changed + UNCHANGED_S, deadline):
        wait()
        time.sleep(INTERVAL_S)
        current, starting = looks.running()
        if starting or current != processes:
            processes, changed = current, time.monotonic()
    return _capped([processes[number] for number in sorted(processes)])


def _capped(processes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of all processes. Remove some processes' arguments if all records together are too long.

    Records without their arguments are marked as truncated.
    """
    bytes_left = MAX_ALL_ARGUMENTS
    capped = []
    for process in processes:
        bytes_left -= len(line_of(process))
        capped.append(process if bytes_left >= 0 else {**process, "arguments": "", "truncated": True})
    return capped
