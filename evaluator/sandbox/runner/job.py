"""Run one command in the jail and collect what it shows: streams, ending, shell state and processes."""

from __future__ import annotations

import hashlib
import os
import select
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from evaluator.sandbox.runner.kernel import Counters, Network, sealed_file
from evaluator.sandbox.runner.processes import settled_processes
from evaluator.sandbox.runner.protocol import WALL_FACTOR, RunnerSettings, json_of
from evaluator.sandbox.runner.shell_state import HOOK, HOOK_FD

INSTALLED = "/opt/bashboard"
JAIL = f"{INSTALLED}/jail"
RUNNER_FD = 9
POLL_MS = 50
READ = 1 << 16
MAX_STATE = 1 << 20


class BrokenError(Exception):
    """The jail could not be entered: our failure, never the command's."""


@dataclass(slots=True)
class Stream:
    """Bytes of one stream up to a cap; the digest and size are of everything."""

    cap: int
    size: int = 0
    _kept: bytearray = field(default_factory=bytearray)
    _state: Any = field(default_factory=hashlib.sha256)

    def feed(self, data: bytes) -> None:
        """Take in what was read."""
        self.size += len(data)
        self._state.update(data)
        if len(self._kept) < self.cap:
            self._kept += data[: self.cap - len(self._kept)]

    @property
    def kept(self) -> bytes:
        """The bytes below the cap."""
        return bytes(self._kept)

    def record(self) -> dict[str, Any]:
        """As an `Output` record."""
        return {"data": json_of(self.kept), "size": self.size, "digest": self._state.hexdigest()}


@dataclass(frozen=True, slots=True)
class JailEntry:
    """Who enters which world: the overlay's lower directories, the scratch directory, user and folder."""

    lower: str
    scratch: str
    uid: int = 0
    gids: tuple[int, ...] = (0,)
    cwd: str = "/"
    start: bytes | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended. `by_wall` tells a wall timeout, which a busy machine may cause, from a CPU timeout."""

    ending: str
    status: int | None
    stdout: Stream
    stderr: Stream
    state: bytes
    processes: list[dict[str, Any]] | None
    cpu_ms: float
    wall_ms: float
    by_wall: bool
    setup_ms: float
    command_ms: float


class _Follower:
    """Reads a running jail's streams until all are closed, and ends it at a limit."""

    def __init__(self, cpu_s: float, counters: Counters) -> None:
        self._counters = counters
        self._next_look = time.monotonic() + POLL_MS / 1000
        self._wall_end = time.monotonic() + WALL_FACTOR * cpu_s
        self._cpu_end = counters.cpu_s() + cpu_s
        self.limit: str | None = None
        self.processes: list[dict[str, Any]] | None = None

    def follow(self, pid: int, streams: dict[int, Stream], report: Stream, release: int | None) -> None:
        """Read to the end; `release` is closed once what the command left running has been listed."""
        poll = select.poll()
        for descriptor in streams:
            poll.register(descriptor, select.POLLIN)
        while streams:
            for descriptor, _ in poll.poll(POLL_MS):
                data = os.read(descriptor, READ)
                streams[descriptor].feed(data)
                if not data:
                    poll.unregister(descriptor)
                    del streams[descriptor]
            if release is not None and b"\n" in report.kept:
                self.processes = settled_processes()
                os.close(release)
                release = None
            if self.limit is None and self._over():
                os.kill(pid, signal.SIGTERM)
        if release is not None:
            os.close(release)

    def _over(self) -> bool:
        """Look at the limits now and then: reading a counter costs more than reading a pipe."""
        now = time.monotonic()
        if now < self._next_look:
            return False
        self._next_look = now + POLL_MS / 1000
        if self._counters.cpu_s() > self._cpu_end:
            self.limit = "cpu"
        elif now > self._wall_end:
            self.limit = "wall"
        return self.limit is not None


class Jail:
    """The program that enters worlds (`image/jail.c`), started when first needed and again if it is gone."""

    def __init__(self, settings: RunnerSettings, counters: Counters, network: Network) -> None:
        self._settings, self._counters, self._network = settings, counters, network
        self._socket: socket.socket | None = None
        self._pid = 0
        self._null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)

    def _leave(self) -> None:
        """Let the program go; the next run starts another, in the network that is there by then."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            os.waitpid(self._pid, 0)

    def _connect(self) -> socket.socket:
        if self._socket is None:
            with self._network.left():
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, self._null, 0)]
                actions += [(os.POSIX_SPAWN_CLOSE, place) for place in (1, 2)]
                actions += [(os.POSIX_SPAWN_DUP2, theirs.fileno(), RUNNER_FD)]
                self._pid = os.posix_spawn(JAIL, ["init"], {}, file_actions=actions)
            self._socket = ours
        return self._socket

    def run(
        self,
        entry: JailEntry,
        command: bytes,
        environment: Mapping[str, str],
        observe: frozenset[str] = frozenset(),
        cpu_s: float | None = None,
    ) -> Ended:
        """Run one command to its end or to a limit. Raises BrokenError where the jail itself failed."""
        if self._network.renew():
            self._leave()
        began, cpu_before, oom_before = time.monotonic(), self._counters.cpu_s(), self._counters.oom_kills()
        cap = self._settings.output_bytes
        out, err, report, state = (Stream(each) for each in (cap, cap, READ, MAX_STATE))
        follower = _Follower(cpu_s or self._settings.cpu_s, self._counters)
        with ExitStack() as ours:
            streams, release = self._enter(ours, entry, command, environment, observe, (out, err, report, state))
            follower.follow(self._pid, streams, report, release)
            if not self._connect().recv(1):
                self._leave()
        ending, status = _ending(report.kept, follower.limit, self._counters.oom_kills() > oom_before)
        setup_ms, command_ms = _spent(report.kept)
        return Ended(
            ending=ending,
            status=status,
            stdout=out,
            stderr=err,
            state=state.kept,
            processes=follower.processes,
            cpu_ms=round((self._counters.cpu_s() - cpu_before) * 1000, 2),
            wall_ms=round((time.monotonic() - began) * 1000, 2),
            by_wall=follower.limit == "wall",
            setup_ms=setup_ms,
            command_ms=command_ms,
        )

    def _enter(
        self,
        ours: ExitStack,
        entry: JailEntry,
        command: bytes,
        environment: Mapping[str, str],
        observe: frozenset[str],
        streams: Sequence[Stream],
    ) -> tuple[dict[int, Stream], int | None]:
        """Send one request; what is to be read, by descriptor, and what to close to let the job's process 1 go."""
        shell, hold = "shell" in observe, "processes" in observe
        with ExitStack() as theirs:

            def give(descriptor: int) -> int:
                theirs.callback(os.close, descriptor)
                return descriptor

            def stream() -> int:
                reading, writing = os.pipe()
                ours.callback(os.close, reading)
                read_from.append(reading)
                return give(writing)

            read_from: list[int] = []
            out, err, report = stream(), stream(), stream()
            release = os.pipe() if hold else None
            places = [
                out,
                err,
                give(sealed_file(command + b"\0")),
                report,
                give(release[0]) if release else self._null,
                self._null if entry.start is None else give(sealed_file(entry.start + b"\0")),
                give(sealed_file(HOOK)) if shell else self._null,
                stream() if shell else self._null,
            ]
            if shell:
                environment = {**environment, "BASH_ENV": f"/proc/self/fd/{HOOK_FD}"}
            socket.send_fds(self._connect(), [_request(entry, environment, hold, shell)], places)
        return dict(zip(read_from, streams, strict=False)), release[1] if release else None


def _request(entry: JailEntry, environment: Mapping[str, str], hold: bool, shell: bool) -> bytes:
    """The texts of a request, in the order `image/jail.c` names."""
    flags = "".join(str(int(flag)) for flag in (hold, entry.start is not None, shell))
    texts = [entry.lower, entry.scratch, str(entry.uid), ",".join(map(str, entry.gids)), entry.cwd, flags]
    texts += [f"{name}={value}" for name, value in environment.items()]
    return b"".join(os.fsencode(text) + b"\0" for text in texts)


def _ending(report: bytes, limit: str | None, out_of_memory: bool) -> tuple[str, int | None]:
    """How the run ended and bash's exit status, from the jail's report."""
    words = report.decode("utf-8", "replace").split()
    if words[:1] == ["broken"]:
        raise BrokenError(f"the jail failed at {' '.join(words[1:])}")
    if limit is not None:
        return "timeout", None
    if words[:1] != ["ended"]:
        return ("memory", None) if out_of_memory else ("crash", None)
    status = os.waitstatus_to_exitcode(int(words[1]))
    status = status if status >= 0 else 128 - status
    return ("memory" if out_of_memory else "exited"), status


def _spent(report: bytes) -> tuple[float, float]:
    """Milliseconds until bash was started and until it ended, from the jail's report; 0 where it has none."""
    words = report.split()
    return (int(words[3]) / 1000, int(words[4]) / 1000) if len(words) == 5 and words[0] == b"ended" else (0.0, 0.0)
