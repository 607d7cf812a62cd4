"""The processes a command left running, seen from outside its pid namespace."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from evaluator.sandbox.runner.protocol import json_of

UNCHANGED_S = 0.1
GIVE_UP_S = 2.0
INTERVAL_S = 0.02
STARTED_S = 0.1
_STATES = {"T": "stopped", "t": "stopped"}
_TICKS = os.sysconf("SC_CLK_TCK")


def _status(pid: str) -> dict[str, str]:
    try:
        lines = Path("/proc", pid, "status").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def _describe(pid: str) -> tuple[int, dict[str, Any]] | None:
    """A process of the job by its number there; None for our own, the job's init and the dead."""
    status = _status(pid)
    numbers = status.get("NSpid", "").split()
    if len(numbers) < 2 or numbers[-1] == "1" or status["State"][0] in "ZX":
        return None
    try:
        arguments = Path("/proc", pid, "cmdline").read_bytes().removesuffix(b"\0")
    except OSError:
        return None
    state = _STATES.get(status["State"][0], "running")
    return int(numbers[-1]), {
        "arguments": json_of(arguments),
        "uid": int(status["Uid"].split()[0]),
        "state": state,
    }


def _is_starting(pid: str) -> bool:
    """Whether a process waits for the processor or the disk, and had less of the former than what starts needs.

    On a busy machine it may wait so for longer than 100 ms, and nothing of it changes meanwhile.
    """
    try:
        fields = Path("/proc", pid, "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] in "RD" and int(fields[11]) + int(fields[12]) < STARTED_S * _TICKS


def _running() -> tuple[dict[int, dict[str, Any]], bool]:
    """The job's processes by their numbers there, and whether one of them is still starting."""
    pids = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    found = {pid: described for pid in pids if (described := _describe(pid)) is not None}
    return dict(found.values()), any(map(_is_starting, found))


def settled_processes() -> list[dict[str, Any]]:
    """What runs in the job once that has not changed for 100 ms and all of it has started, by process number.

    At most 2 s are waited.
    """
    deadline = time.monotonic() + GIVE_UP_S
    (seen, _), since = _running(), time.monotonic()
    while time.monotonic() < min(since + UNCHANGED_S, deadline):
        time.sleep(INTERVAL_S)
        current, starting = _running()
        if starting or current != seen:
            seen, since = current, time.monotonic()
    return [seen[number] for number in sorted(seen)]
