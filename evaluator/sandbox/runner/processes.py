"""List the processes that still run after a command. The runner reads /proc outside the command's pid namespace."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluator.sandbox.runner.protocol import json_of
from evaluator.sandbox.runner.reading_budget import line_of

UNCHANGED_S = 0.1
GIVE_UP_S = 2.0
INTERVAL_S = 0.02
STARTED_S = 0.1
MAX_ARGUMENTS, MAX_ALL_ARGUMENTS = 4 << 10, 1 << 20
"""The most bytes of arguments of one process, and of all processes of a job in JSON."""

_STATES = {"T": "stopped", "t": "stopped"}
_TICKS = os.sysconf("SC_CLK_TCK")


def _status(pid: str) -> dict[str, str]:
    try:
        lines = Path("/proc", pid, "status").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def _describe(pid: str) -> tuple[int, dict[str, Any]] | None:
    """Return a process's pid in the pid namespace of the job, and the record of the process for the evidence.

    Return None for the runner's own processes, for the job's process 1, and for dead processes.
    """
    status = _status(pid)
    numbers = status.get("NSpid", "").split()
    if len(numbers) < 2 or numbers[-1] == "1" or status["State"][0] in "ZX":
        return None
    try:
        with Path("/proc", pid, "cmdline").open("rb", buffering=0) as file:
            arguments = file.read(MAX_ARGUMENTS + 1)
    except OSError:
        return None
    state = _STATES.get(status["State"][0], "running")
    cut = {"truncated": True} if len(arguments) > MAX_ARGUMENTS else {}
    return int(numbers[-1]), {
        "arguments": json_of(arguments[:MAX_ARGUMENTS].removesuffix(b"\0")),
        **cut,
        "uid": int(status["Uid"].split()[0]),
        "state": state,
    }


def _is_starting(pid: str) -> bool:
    """Return whether a process is perhaps still starting.

    This is assumed if the process is runnable or waits for the disk, and has used less CPU time than the start of a
    program needs.
    """
    try:
        fields = Path("/proc", pid, "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] in "RD" and int(fields[11]) + int(fields[12]) < STARTED_S * _TICKS


def _running() -> tuple[dict[int, dict[str, Any]], bool]:
    """Return a mapping from pids to the records of the job's processes, and whether any process is starting.

    The pids are those of the job's pid namespace.
    """
    pids = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    processes = {pid: process for pid in pids if (process := _describe(pid)) is not None}
    return dict(processes.values()), any(map(_is_starting, processes))


def are_asleep() -> bool:
    """Return whether no process of the job is runnable or waits for the disk."""
    statuses = (_status(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return not any(len(status.get("NSpid", "").split()) > 1 and status["State"][0] in "RD" for status in statuses)


def settled_processes(wait: Callable[[], None] = lambda: None) -> list[dict[str, Any]]:
    """Wait until all processes of the job have started and none has changed for 100 ms, but for at most 2 s.

    Return the records of the processes at that time, sorted by pid. Call `wait` at each look.
    """
    deadline = time.monotonic() + GIVE_UP_S
    (processes, _), changed = _running(), time.monotonic()
    while time.monotonic() < min(changed + UNCHANGED_S, deadline):
        time.sleep(INTERVAL_S)
        wait()
        current, starting = _running()
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
