"""The processes a command left running, seen from outside its pid namespace."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from evaluator.sandbox.runner.protocol import json_of

UNCHANGED_S = 0.1
GIVE_UP_S = 2.0
INTERVAL_S = 0.02
_STATES = {"T": "stopped", "t": "stopped"}


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


def _running() -> dict[int, dict[str, Any]]:
    found = (_describe(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return dict(pair for pair in found if pair is not None)


def settled_processes() -> list[dict[str, Any]]:
    """What runs in the job once that has not changed for 100 ms, by process number; at most 2 s are waited."""
    deadline = time.monotonic() + GIVE_UP_S
    seen, since = _running(), time.monotonic()
    while time.monotonic() < min(since + UNCHANGED_S, deadline):
        time.sleep(INTERVAL_S)
        current = _running()
        if current != seen:
            seen, since = current, time.monotonic()
    return [seen[number] for number in sorted(seen)]
