"""Tests of invalid lines from the runner.

A line that breaks the protocol is an infrastructure error of one request, and never stops the pool.
"""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from evaluator.errors import SandboxError
from evaluator.records import Evidence
from evaluator.sandbox.container import _Stream
from evaluator.sandbox.pool import Pool
from evaluator.sandbox.requests import Request
from evaluator.sandbox.runner.protocol import World
from evaluator.testing.workers import ScriptedWorkers, says, shows

WORLD = World("", "w", "plain", 1, b"true", None, None, "/", "root")


def received(line: bytes) -> Any:
    """Send a line in one frame of a container's output, and return the message that the host receives."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"\1\0\0\0" + len(line).to_bytes(4, "big") + line)
        return _Stream(ours).receive(5.0)


@pytest.mark.parametrize("line", [b"[]", b"3", b'"error"', b"null", b"{", b"\xff", b"[" * 5000, b'{"a":' * 5000])
def test_a_line_that_is_no_object_is_refused(line: bytes) -> None:
    """A line that is not a JSON object is refused, including a line that is nested too deeply for the parser."""
    with pytest.raises(SandboxError, match="the runner's line"):
        received(line + b"\n")


def test_an_object_is_received() -> None:
    assert received(b'{"error":"no layer"}\n') == {"error": "no layer"}


PHASES: list[Any] = [[], 3, None, {"run": "x"}, {"run": None}, {"run": [1]}, {"run": -5}, {"run": 10**400}]


@pytest.mark.parametrize("phases", [*PHASES, {"run": float("nan")}, {"run": float("inf")}])
def test_an_invalid_duration_counts_as_zero(phases: Any) -> None:
    """An invalid duration counts as 0. The evidence of the job still counts, because durations are only for
    information.
    """
    line = {**shows("done")({}), "phases": phases}
    workers = ScriptedWorkers([says(json.loads(json.dumps(line)))])
    with Pool(workers.start, 1, wall_s=1, sleep=workers.sleep) as pool:
        ((_, result),) = pool.execute([Request.of(WORLD, b"a")])
        assert pool.worker_time.jobs_s == 0
    assert isinstance(result, Evidence)


def test_valid_durations_are_added() -> None:
    line = {**shows("done")({}), "phases": {"build": 500, "run": 250.0, "read": "x"}}
    workers = ScriptedWorkers([says(line)])
    with Pool(workers.start, 1, wall_s=1, sleep=workers.sleep) as pool:
        list(pool.execute([Request.of(WORLD, b"a")]))
        assert pool.worker_time.jobs_s == 0.75
