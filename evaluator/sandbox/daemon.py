"""Connect to a container engine, or start an engine as a child process if the system has no service for it.

An engine that we start continues to run after our process exits, like a service of the system. The engine is detached
from our process and our terminal, and its output goes to a log file. If the engine does not start, the error contains
the last lines of this log file.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import docker
from docker.errors import DockerException
from urllib3.exceptions import HTTPError

from evaluator.errors import EngineError, SilentEngineError
from evaluator.sandbox.docker_client import TIMEOUTS, EngineClient, Timeouts, causes, timed_out

START_TIMEOUT_S: Final = 60.0
"""The limit of an engine's start. dockerd needs 2 s, or more if it restores containers or the disk is slow."""

HANGS: Final = "it accepts connections, but does not answer"
"""The reason shown for a hanging engine. An engine that refuses gives a reason of its own."""

REMEDIES: Final = {"container-init binary not found": "sudo apt-get install -y catatonit"}
"""Commands that fix an engine's error, by a text in the error. podman only recommends the init that a worker needs."""


class Daemon(NamedTuple):
    """A container engine to start as a child process: its command line, its address, its pid file and its log file."""

    command: tuple[str, ...]
    host: str
    pidfile: Path
    log: Path


SYSTEM_DAEMON: Final = Daemon(
    ("dockerd", "--iptables=false", "--bridge=none"),
    "unix:///var/run/docker.sock",
    Path("/var/run/docker.pid"),
    Path("/var/log/bashboard-dockerd.log"),
)


def connect(host: str, environment: Mapping[str, str], timeouts: Timeouts = TIMEOUTS) -> EngineClient:
    """Return a client of the engine at `host`, after the engine has answered.

    Raises one of docker-py's errors, OSError or SilentEngineError if the engine does not answer.
    """
    _probe(host, timeouts.probe_s)
    return EngineClient(timeouts, **docker.utils.kwargs_from_env({**environment, "DOCKER_HOST": host}))


def _probe(host: str, timeout_s: float) -> None:
    """Check that an engine listens at `host`, if this address is a local socket. Raises OSError if none listens.

    docker-py leaks a socket if no engine listens. So this check comes before docker-py connects.
    """
    if host.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as local:
            local.settimeout(timeout_s)
            local.connect(host.removeprefix("unix://"))


def innermost(error: BaseException) -> str:
    """Return the message of the operating system's error that caused `error`, without the messages of HTTP layers."""
    if timed_out(error):
        return HANGS
    *_, error = causes(error)
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


@contextlib.contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Convert errors of the engine's client in a `with` block to an EngineError. The new message begins with `what`.

    The client raises urllib3's HTTPError if a streamed reply breaks off. This error is converted too.
    """
    try:
        yield
    except SilentEngineError as error:
        raise SilentEngineError(f"{what}: {error}") from error
    except (DockerException, HTTPError, OSError) as error:
        if timed_out(error):
            raise SilentEngineError(f"{what}: the engine stopped answering") from error
        message = str(error) if isinstance(error, DockerException) else innermost(error)
        remedy = next((f"; run:\n{command}" for text, command in REMEDIES.items() if text in message), "")
        raise EngineError(f"{what}: {' '.join(message.split())}{remedy}") from error


def launch(daemon: Daemon) -> subprocess.Popen[bytes]:
    """Start an engine, detached from our process and our terminal, and append its output to its log file."""
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"
    with daemon.log.open("ab") as output:
        process = subprocess.Popen(
            daemon.command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": path},
            cwd="/",
            umask=0o022,
            start_new_session=True,
        )
    atexit.register(_detach, process)
    return process


def _detach(process: subprocess.Popen[bytes]) -> None:
    """Set the exit status of an engine that still runs when our process exits. Otherwise Python would warn about it."""
    if process.poll() is None:
        process.returncode = 0


def wait_for_engine(
    host: str, process: subprocess.Popen[bytes] | None, log: str, timeout_s: float = START_TIMEOUT_S
) -> EngineClient:
    """Wait until the engine at `host` answers, and return a client of this engine.

    Raises:
        EngineError: the engine's process ended, or there was no answer within `timeout_s` seconds.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return connect(host, {})
        except (DockerException, OSError, EngineError) as error:
            reason = innermost(error)
        ended = process.poll() if process else None
        if ended is not None or time.monotonic() > deadline:
            silent = f"does not answer after {timeout_s:.0f} s ({reason})"
            failure = silent if ended is None else f"ended with status {ended}"
            raise EngineError(f"the container engine we started {failure}; its log is {log}{_tail(Path(log))}")
        time.sleep(0.1)


def _tail(log: Path, lines: int = 8) -> str:
    if not log.is_file():
        return ""
    return "\n" + "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
