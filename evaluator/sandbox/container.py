"""A worker: one long-lived container with our runner, which receives one job at a time over its attached streams.

The container has no network and a read-only root. It holds the capabilities for building overlays and namespaces. The
commands inside hold none of these capabilities (see `image/jail.c`). When our process ends, the runner's input ends,
and then the runner and the container end. If the engine crashes, a later run finds the remaining containers by their
label.

A container may end because of its command or because of an outside cause. A command can reach neither the engine nor
its container's processes, which are in another process namespace. So if a container is removed, paused, or killed by a
signal although it has memory left, the cause is outside, and the failure does not count against the command. If the
runner crashes, hangs or runs out of memory, the failure counts against the command.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from docker.errors import NotFound
from docker.types import Ulimit

from evaluator.errors import EngineError, SandboxError
from evaluator.records import SuiteManifest
from evaluator.sandbox.daemon import engine_errors
from evaluator.sandbox.diagnostics import container_security
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image import SuiteImage
from evaluator.sandbox.leftovers import LABEL, WORKER_GROUP_LABEL, owner_label
from evaluator.sandbox.runner import PROTOCOL
from evaluator.sandbox.runner.protocol import ASLEEP
from evaluator.sandbox.runner.reading_budget import MAX_LINE
from evaluator.sandbox.worker import Line, OnSleep, OverdueError, RetiredError, WorkerDiedError

RUN_DIRECTORY: Final = "/run/bashboard"
RUNNER_MEMORY_MB: Final = 384
"""The memory of the runner itself and the layers it builds, in addition to the command's limit."""

READY_TIMEOUT_S: Final = 60.0
FROM_OUTSIDE: Final = frozenset(
    128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, signal.SIGTERM)
)
"""The exit statuses of a runner killed by a signal from outside: by a stopping engine, a user or the system."""

CAPABILITIES: Final = (
    *("SYS_ADMIN", "SYS_CHROOT", "SYS_TIME", "SETPCAP", "MKNOD", "NET_ADMIN"),
    *("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETUID", "SETGID", "SETFCAP"),
)
ULIMITS: Final = tuple(
    Ulimit(name=name, soft=limit, hard=limit) for name, limit in (("nofile", 4096), ("nproc", 4096), ("core", 1))
)
"""The highest values to which a job may raise its own limits, instead of the engine's defaults. With 1 byte for a core
dump, the kernel starts no program of the host for a crash. With 0 bytes it may."""

_START: Final = (
    "import sys; sys.path.insert(0, '/opt/bashboard'); from evaluator.sandbox.runner.__main__ import main; main()"
)


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """The inputs of a worker's container. `cpu` is None for any CPU. Workers of a group start and end together."""

    image: SuiteImage
    manifest: SuiteManifest
    cpu: int | None = None
    worker_group: str = ""


def worker_memory_mb(manifest: SuiteManifest) -> int:
    """Return the memory limit of a worker's container in MB: the command's limits, the runner and its layers."""
    return manifest.limits.memory_mb + manifest.limits.disk_mb + RUNNER_MEMORY_MB


def container_options(engine: Engine, plan: WorkerPlan) -> Mapping[str, Any]:
    """Return docker-py's options for a worker's container, including all its restrictions."""
    limits = plan.manifest.limits
    memory = f"{worker_memory_mb(plan.manifest)}m"
    return {
        "command": ["python3", "-I", "-S", "-c", _START],
        "labels": {LABEL: owner_label(os.getpid()), WORKER_GROUP_LABEL: plan.worker_group},
        "stdin_open": True,
        "tty": False,
        "network_mode": "none",
        "read_only": True,
        "init": True,
        "cap_drop": ["ALL"],
        "cap_add": list(CAPABILITIES),
        "security_opt": container_security(engine),
        "runtime": engine.runtime or None,
        "tmpfs": {RUN_DIRECTORY: f"rw,nosuid,nodev,size={RUNNER_MEMORY_MB // 2}m,mode=700"},
        "mem_limit": memory,
        "memswap_limit": memory,
        "pids_limit": limits.processes + 16,
        "ulimits": list(ULIMITS),
        "cpuset_cpus": None if plan.cpu is None else str(plan.cpu),
        "log_config": {"type": "none"},
        "environment": {"PYTHONDONTWRITEBYTECODE": "1"},
    }


def settings_line(manifest: SuiteManifest) -> Line:
    """Return the first line that a container's runner receives: the settings for all jobs of the suite."""
    return {
        "clock_s": int(manifest.clock.timestamp()),
        "cpu_s": manifest.limits.cpu_s,
        "disk_mb": manifest.limits.disk_mb,
        "inodes": manifest.limits.inodes,
        "output_bytes": manifest.limits.output_kb * 1024,
        "environment": manifest.environment,
    }


class _Stream:
    """The connection to a container's runner. It sends lines, and it reads the runner's output from Docker's frames."""

    def __init__(self, attached: socket.socket) -> None:
        self._socket = attached
        self._lines = bytearray()
        self.stderr = bytearray()

    def send(self, line: Line) -> None:
        self._socket.sendall(json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def receive(self, timeout_s: float) -> Line | None:
        """Return the runner's next line, or None at the end of the stream.

        Raises TimeoutError if no line arrives in time, SandboxError if the line is too long or is not a JSON object.
        """
        self._socket.settimeout(timeout_s)
        start = 0
        while (end := self._lines.find(b"\n", start)) < 0:
            if len(self._lines) > MAX_LINE:
                raise SandboxError(f"the runner's line is longer than {MAX_LINE >> 20} MB")
            start = len(self._lines)
            header = self._read(8)
            if header is None:
                return None
            kind, length = struct.unpack(">BxxxL", header)
            payload = self._read(length)
            if payload is None:
                return None
            target = self._lines if kind == 1 else self.stderr
            target += payload
        line = bytes(self._lines[:end])
        del self._lines[: end + 1]
        return _parse_line(line)

    def _read(self, count: int) -> bytes | None:
        """Read exactly `count` bytes from the container. Return None if the stream ends earlier."""
        parts = []
        while count:
            part = self._socket.recv(min(count, 1 << 20))
            if not part:
                return None
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()


def _parse_line(line: bytes) -> Line:
    """Return the JSON object in a line of the runner. Raises SandboxError if the line is anything else."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SandboxError(f"the runner's line cannot be parsed: {error}") from error
    if not isinstance(answer, dict):
        raise SandboxError(f"the runner's line is a {type(answer).__name__}: expected an object")
    return answer


class ContainerWorker:
    """A worker in a container of the engine. A new worker is ready for jobs, and `close` removes its container."""

    def __init__(self, engine: Engine, plan: WorkerPlan) -> None:
        self._client = engine.client
        with contextlib.ExitStack() as opened:
            with engine_errors("a worker container could not be started"):
                engine.client.ping()  # a hanging engine fails here sooner than at a container's creation
                options = container_options(engine, plan)
                self.container = engine.client.containers.create(plan.image.reference, **options)
                opened.callback(self._remove)
                streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
                attached = self.container.attach_socket(params=streams)
                # docker-py returns a wrapper that closes the socket when it is collected: keep it as long as the socket
                opened.callback(_close, attached)
                self._stream = _Stream(getattr(attached, "_sock", attached))
                # close the stream before the container: otherwise the removal waits for unread output
                opened.callback(self._stream.close)
                self.started = datetime.now(UTC)
                self.container.start()
            self.weaknesses = self._handshake(plan)
            self._opened = opened.pop_all()

    @property
    def container_id(self) -> str:
        """Return the engine's id of the container."""
        identifier: str = self.container.id
        return identifier

    def _handshake(self, plan: WorkerPlan) -> tuple[str, ...]:
        """Send the suite's settings to the new runner and check its answer. Raises SandboxError if the jail is unsafe.

        Return a sentence for each optional kernel feature that the runner does not have on this machine.
        """
        try:
            ready = self.ask(settings_line(plan.manifest), READY_TIMEOUT_S)
        except WorkerDiedError as death:  # no command ran yet, so none is charged
            raise SandboxError(f"a worker did not start: {death}") from death
        if ready.get("protocol") != PROTOCOL:
            raise SandboxError(f"the image's runner speaks protocol {ready.get('protocol')}, expected {PROTOCOL}")
        failures = [f"{name}: {failure}" for name, failure in ready["checks"].items() if failure]
        if failures:
            raise SandboxError("the sandbox does not hold on this machine, nothing is executed: " + "; ".join(failures))
        unreadable = [f"this kernel does not show what a job leaves of: {name}" for name in ready["unreadable"]]
        shared = "this kernel refuses a user namespace, so jobs share the limits per user with the host's root"
        return (*unreadable, *(() if ready["own_users"] else (shared,)))

    def tell(self, line: Line) -> None:
        """Send the container's runner one line that needs no answer."""
        with contextlib.suppress(OSError):  # the next `ask` reports a broken stream with its cause
            self._stream.send(line)

    def ask(self, line: Line, timeout_s: float, on_sleep: OnSleep | None = None) -> Line:
        """Send the container's runner one line, and return the runner's answer.

        Call `on_sleep` when the runner reports that all processes of the job sleep, or that one is awake again.

        Raises:
            WorkerDiedError: the worker's container ended, perhaps because of the command.
            EngineError: the worker's container ended because of another cause.
            RetiredError: the runner refused the job.
            OverdueError: the runner did not finish the job in time.
            SandboxError: the answer cannot be parsed.
        """
        self.tell(line)
        deadline = time.monotonic() + timeout_s
        try:
            answer = self._stream.receive(timeout_s)
            while answer is not None and ASLEEP in answer:
                if on_sleep is not None:
                    on_sleep(bool(answer[ASLEEP]))
                answer = self._stream.receive(max(0.001, deadline - time.monotonic()))
        except TimeoutError:
            raise self._timeout_error(timeout_s) from None
        except OSError as error:
            raise EngineError(f"the stream to a worker broke: {error}") from error
        if answer is None:
            raise self._end_error()
        if "retired" in answer:
            raise RetiredError(f"an earlier job left something behind in the container: {answer['retired']}")
        if "overdue" in answer:
            raise OverdueError(answer["overdue"])
        return answer

    def _timeout_error(self, timeout_s: float) -> SandboxError | EngineError:
        """Find out if the engine or the runner caused a missing answer, and return the error for this cause."""
        state = self._state(wait_s=0)
        if isinstance(state, EngineError):
            return state
        if state.get("Paused"):
            return EngineError("the worker's container was paused from outside")
        return WorkerDiedError(f"no answer from the runner in {timeout_s:.0f} s", out_of_memory=False)

    def _end_error(self) -> SandboxError | EngineError:
        """Find out if the command, an outside signal or the engine ended the stream, and return the error for this."""
        state = self._state(wait_s=15)
        if isinstance(state, EngineError):
            return state
        status, out_of_memory = state["ExitCode"], bool(state.get("OOMKilled"))
        if status in FROM_OUTSIDE and not out_of_memory:
            return EngineError(f"the worker's container was ended from outside (status {status})")
        stderr = self._stream.stderr.decode("utf-8", "replace").strip()[-500:]
        message = f"the worker's container ended with status {status} {stderr}".rstrip()
        return WorkerDiedError(message, out_of_memory=out_of_memory)

    def _state(self, wait_s: float) -> Mapping[str, Any] | EngineError:
        """Wait up to `wait_s` seconds for the container's end. Return the container's state or an error."""
        try:
            with engine_errors("the engine went away"):
                self._client.ping()
                try:
                    if wait_s:
                        self.container.wait(timeout=wait_s)
                    self.container.reload()
                except NotFound:
                    return EngineError("the worker's container was removed from outside")
        except EngineError as error:
            return error
        state: Mapping[str, Any] = self.container.attrs["State"]
        return state

    def _remove(self) -> None:
        with contextlib.suppress(EngineError), engine_errors("the worker's container could not be removed"):
            self._client.ping()
            self.container.remove(force=True)

    def close(self) -> None:
        """Remove the worker's container."""
        self._opened.close()


def _close(attached: Any) -> None:
    """Close the engine's answer and then its socket. In the other order, the answer may raise an error later."""
    for part in (getattr(attached, "_response", None), attached):
        with contextlib.suppress(OSError):
            if part is not None:
                part.close()
