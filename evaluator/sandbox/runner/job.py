"""Run one command in the jail. Collect its output, its ending, the shell's state, and the remaining processes."""

from __future__ import annotations

import hashlib
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluator.sandbox.runner.kernel import Counters, Network, sealed_file
from evaluator.sandbox.runner.lost_time import LostTime
from evaluator.sandbox.runner.processes import are_asleep, settled_processes
from evaluator.sandbox.runner.protocol import WALL_FACTOR, RunnerSettings, json_of
from evaluator.sandbox.runner.reading_budget import UnfinishedJobError
from evaluator.sandbox.runner.shell_state import HOOK, HOOK_FD

INSTALLED = "/opt/bashboard"
JAIL = f"{INSTALLED}/jail"
RUNNER_FD, USERS_FD = 9, 10
POLL_MS = 50
QUIET_SHARE = 0.3
"""A job that uses more of a core than this share is not quiet."""

WAKE_S = 0.001
"""If the processes of a sleeping job use less CPU time than this between two looks, the job is still asleep."""

READ = 1 << 16
MAX_STATE = 1 << 20
GRACE_S = 20.0
"""The longest time between the end of a job at a limit and the end of the job's last process."""


class BrokenError(Exception):
    """The jail or the build of a world failed. This error is never the fault of a command."""


@dataclass(slots=True)
class Stream:
    """The first bytes of a job's output stream up to a limit, and the size and digest of the complete stream."""

    cap: int
    size: int = 0
    _data: bytearray = field(default_factory=bytearray)
    _state: Any = field(default_factory=hashlib.sha256)

    def feed(self, data: bytes) -> None:
        """Add bytes that were read from the stream."""
        self.size += len(data)
        self._state.update(data)
        if len(self._data) < self.cap:
            self._data += data[: self.cap - len(self._data)]

    @property
    def data(self) -> bytes:
        """Return the first bytes of the stream, up to the limit."""
        return bytes(self._data)

    def record(self) -> dict[str, Any]:
        """Return the stream in the JSON form of an `Output` record of the evidence."""
        return {"data": json_of(self.data), "size": self.size, "digest": self._state.hexdigest()}


@dataclass(frozen=True, slots=True)
class JailEntry:
    """The jail program's inputs to enter a world (the files that a command starts with).

    `lower` lists the directories with the world's files, with colons between them. `scratch` is the directory for the
    command's changes. `start` is the world's start script. `age_ns` is the time that the world's clock has already run.
    A negative `age_ns` makes the clock stand still for that time.
    """

    lower: str
    scratch: str
    uid: int = 0
    gids: tuple[int, ...] = (0,)
    cwd: str = "/"
    start: bytes | None = None
    age_ns: int = 0


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of running one command. `by_wall` is true if the wall-clock limit ended the command.

    `is_lost_time_known` is false if a busy machine may have caused this ending.
    """

    ending: str
    status: int | None
    stdout: Stream
    stderr: Stream
    state: bytes
    processes: list[dict[str, Any]] | None
    cpu_ms: float
    wall_ms: float
    by_wall: bool
    is_lost_time_known: bool
    setup_ms: float
    command_ms: float


class _Follower:
    """A reader of the streams of a running job. It ends the job if the CPU or wall-clock limit is exceeded.

    At the wall-clock limit, the job gets the time back that it lost to other programs or machines (see `LostTime`).

    It calls `on_sleep` with True when all processes of the job sleep, and with False when one is awake again. `jail`
    is the pid of the program that starts the job.
    """

    def __init__(
        self,
        cpu_s: float,
        wall_s: float,
        counters: Counters,
        on_sleep: Callable[[bool], None],
        jail: int,
    ) -> None:
        now, used_s = time.monotonic(), counters.cpu_s()
        self._counters, self._on_sleep = counters, on_sleep
        self._is_asleep = False
        self._last_cpu_s, self._last_own_s, self._last_look = used_s, time.process_time(), now
        self._next_check = now + POLL_MS / 1000
        self._wall_s, self._wall_end, self._cpu_end = wall_s, now + wall_s, used_s + cpu_s
        self._lost_time = LostTime(now, used_s, jail, (1, os.getpid()))
        self._last_moment = float("inf")
        self.limit: str | None = None
        self.is_lost_time_known = True
        self.processes: list[dict[str, Any]] | None = None

    def follow(
        self, pid: int, jail: socket.socket, streams: dict[int, Stream], report: Stream, release: int | None
    ) -> bool:
        """Read the streams until all processes of the job have ended. Return False if the jail program ended too.

        If `release` is not None, the other processes of the job continue after bash has ended. This method lists them,
        and then closes `release`, so that they end. It does not wait until all streams are closed, because the queue
        of a socket can keep a stream open. Raises UnfinishedJobError if the processes do not end in time.
        """
        poll = select.poll()
        poll.register(jail, select.POLLIN)
        for descriptor, stream in streams.items():
            if stream is not report or release is not None:
                poll.register(descriptor, select.POLLIN)
        answers = False
        while not answers:
            for descriptor, _ in poll.poll(POLL_MS):
                if descriptor == jail.fileno():
                    answers = True
                else:
                    _read(descriptor, streams[descriptor])
            if release is not None and (answers or b"\n" in report.data):
                self.processes = None if answers else self._settled_processes()
                os.close(release)
                release = None
            if not answers:
                self._end_job(pid)
        _drain(streams)
        return bool(jail.recv(1))

    def _end_job(self, pid: int) -> None:
        """End the job if a limit is exceeded. Raises UnfinishedJobError if the job's processes do not end in time."""
        if self.limit is None and self._check_limits():
            os.kill(pid, signal.SIGTERM)
        elif self.limit is not None and time.monotonic() > self._last_moment:
            raise UnfinishedJobError("the processes of a job did not end")

    def _check_limits(self) -> bool:
        """Return whether the job exceeds the CPU or wall-clock limit.

        To save time, return False without a check for POLL_MS milliseconds after each check.
        """
        now = time.monotonic()
        if now < self._next_check:
            return False
        self._next_check = now + POLL_MS / 1000
        self._note_sleep()
        cpu_s = self._counters.cpu_s()
        if not self._is_asleep:
            self._lost_time.sample(now, cpu_s)
        if cpu_s > self._cpu_end:
            self.limit = "cpu"
        elif now > self._wall_end and now > self._wall_end + self._lost_time.total_s(now, cpu_s):
            self.limit = "wall"
            self.is_lost_time_known = self._lost_time.is_known(self._wall_s, cpu_s)
        self._last_moment = now + GRACE_S
        return self.limit is not None

    def _settled_processes(self) -> list[dict[str, Any]]:
        """Return the processes that the command left, when they have settled.

        Most of them sleep already, so that the job need not hold its core.
        """
        self._note_sleep(is_quiet=True)
        return settled_processes(self._note_sleep)

    def _note_sleep(self, *, is_quiet: bool = False) -> None:
        """Report when all processes of the job fall asleep, and when one wakes.

        The processes are looked at only if the job has used little CPU time since the last look, or with `is_quiet`.
        While they sleep, they are looked at only if they have used some.
        """
        cpu_s, own_s, now = self._counters.cpu_s(), time.process_time(), time.monotonic()
        used_s = cpu_s - self._last_cpu_s - (own_s - self._last_own_s)
        still_asleep = self._is_asleep and cpu_s > 0 and used_s < WAKE_S
        is_quiet = is_quiet or used_s <= QUIET_SHARE * (now - self._last_look)
        self._last_cpu_s, self._last_own_s, self._last_look = cpu_s, own_s, now
        asleep = still_asleep or (is_quiet and are_asleep())
        if asleep is not self._is_asleep:
            self._is_asleep = asleep
            self._on_sleep(asleep)


def _read(descriptor: int, stream: Stream) -> bool:
    """Add the next bytes of a pipe to its stream. Return False at the end of the pipe, or if it is empty but open."""
    try:
        data = os.read(descriptor, READ)
    except BlockingIOError:
        return False
    stream.feed(data)
    return bool(data)


def _drain(streams: Mapping[int, Stream]) -> None:
    """Add the remaining bytes of all pipes to their streams. No process can write to the pipes any more."""
    for descriptor, stream in streams.items():
        os.set_blocking(descriptor, False)
        while _read(descriptor, stream):
            pass


class Jail:
    """The jail program (`image/jail.c`), which enters a world and runs a command there.

    The program starts at the first run, and again if it has ended.
    """

    def __init__(
        self,
        settings: RunnerSettings,
        counters: Counters,
        network: Network,
        users: int | None,
        on_sleep: Callable[[bool], None] = lambda asleep: None,
    ) -> None:
        self._settings, self._counters, self._network, self._users = settings, counters, network, users
        self._on_sleep = on_sleep
        self._socket: socket.socket | None = None
        self._pid = 0
        self._null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        self._is_ready = False

    def prepare(self) -> None:
        """Make sure that the jail program runs, in a network that no job has used."""
        if self._network.renew():
            self._stop()
        self._connect()
        self._is_ready = True

    def _stop(self) -> None:
        """Stop the jail program and wait for its end. The next run starts it again in the current network."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            os.waitpid(self._pid, 0)

    def _connect(self) -> socket.socket:
        if self._socket is None:
            with self._network.outside():
                runner_end, jail_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with jail_end:
                actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, self._null, 0)]
                actions += [(os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in (1, 2)]
                actions += [(os.POSIX_SPAWN_DUP2, jail_end.fileno(), RUNNER_FD)]
                if self._users is not None:
                    actions += [(os.POSIX_SPAWN_DUP2, self._users, USERS_FD)]
                self._pid = os.posix_spawn(JAIL, ["init"], {}, file_actions=actions)
            self._socket = runner_end
        return self._socket

    def run(
        self,
        entry: JailEntry,
        command: bytes,
        environment: Mapping[str, str],
        observe: frozenset[str] = frozenset(),
        cpu_s: float | None = None,
        wall_s: float | None = None,
    ) -> RunResult:
        """Run one command until it ends or exceeds a limit. Raises BrokenError if the jail program fails.

        `cpu_s` and `wall_s` are the limits in seconds. The default of `wall_s` is WALL_FACTOR times `cpu_s`.
        """
        if not self._is_ready:
            self.prepare()
        self._is_ready = False
        started, cpu_before, oom_before = time.monotonic(), self._counters.cpu_s(), self._counters.oom_kills()
        output_bytes = self._settings.output_bytes
        out, err, report, state = (Stream(cap) for cap in (output_bytes, output_bytes, READ, MAX_STATE))
        cpu_s = cpu_s or self._settings.cpu_s
        follower = _Follower(cpu_s, wall_s or WALL_FACTOR * cpu_s, self._counters, self._on_sleep, self._pid)
        opened: list[int] = []
        try:
            streams, release = self._enter(opened, entry, command, environment, observe, (out, err, report, state))
            if not follower.follow(self._pid, self._connect(), streams, report, release):
                self._stop()
                self._connect()
        finally:
            for descriptor in opened:
                os.close(descriptor)
        ending, status = _ending(report.data, follower.limit, self._counters.oom_kills() > oom_before)
        setup_ms, command_ms = _timings_ms(report.data)
        return RunResult(
            ending=ending,
            status=status,
            stdout=out,
            stderr=err,
            state=state.data,
            processes=follower.processes,
            cpu_ms=round((self._counters.cpu_s() - cpu_before) * 1000, 2),
            wall_ms=round((time.monotonic() - started) * 1000, 2),
            by_wall=follower.limit == "wall",
            is_lost_time_known=follower.is_lost_time_known,
            setup_ms=setup_ms,
            command_ms=command_ms,
        )

    def _enter(
        self,
        opened: list[int],
        entry: JailEntry,
        command: bytes,
        environment: Mapping[str, str],
        observe: frozenset[str],
        streams: Sequence[Stream],
    ) -> tuple[dict[int, Stream], int | None]:
        """Send the jail program a request to run one command.

        Return a mapping from descriptors to the command's streams, and one more descriptor. The job's process 1 ends
        when the caller closes this descriptor. It is None if process 1 ends by itself. The caller also closes all
        descriptors in `opened` when the job has ended. They include the write ends of the pipes, so that the end of a
        process of the job does not wake the runner.
        """
        shell, hold = "shell" in observe, "processes" in observe

        def pipe() -> tuple[int, int]:
            ends = os.pipe()
            opened.extend(ends)
            return ends

        def script(text: bytes) -> int:
            opened.append(sealed_file(text))
            return opened[-1]

        out, err, report = pipe(), pipe(), pipe()
        state = pipe() if shell else None
        release = os.pipe() if hold else None
        if release is not None:
            opened.append(release[0])
        descriptors = [
            out[1],
            err[1],
            script(command + b"\0"),
            report[1],
            release[0] if release else self._null,
            self._null if entry.start is None else script(entry.start + b"\0"),
            script(HOOK) if shell else self._null,
            state[1] if state else self._null,
        ]
        if shell:
            environment = {**environment, "BASH_ENV": f"/proc/self/fd/{HOOK_FD}"}
        socket.send_fds(self._connect(), [_request(entry, environment, hold, shell)], descriptors)
        read_ends = [ends[0] for ends in (out, err, report, state) if ends]
        return dict(zip(read_ends, streams, strict=False)), release[1] if release else None


def _request(entry: JailEntry, environment: Mapping[str, str], hold: bool, shell: bool) -> bytes:
    """Return a request to the jail program as NUL-terminated texts, in the order that `image/jail.c` documents."""
    flags = "".join(str(int(flag)) for flag in (hold, entry.start is not None, shell))
    texts = [
        entry.lower,
        entry.scratch,
        str(entry.uid),
        ",".join(map(str, entry.gids)),
        entry.cwd,
        flags,
        str(entry.age_ns),
    ]
    texts += [f"{name}={value}" for name, value in environment.items()]
    return os.fsencode("\0".join(texts)) + b"\0"


def _ending(report: bytes, limit: str | None, out_of_memory: bool) -> tuple[str, int | None]:
    """Return the ending of a run and bash's exit status. Raises BrokenError if the jail program failed."""
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


def _timings_ms(report: bytes) -> tuple[float, float]:
    """Return the duration of the preparation for bash and the duration of bash, in milliseconds.

    Both are 0 if `report` lacks them.
    """
    words = report.split()
    return (int(words[3]) / 1000, int(words[4]) / 1000) if len(words) == 5 and words[0] == b"ended" else (0.0, 0.0)
