"""Reaching an engine, and starting one by hand where nothing else does.

An engine that we start outlives us by intention, as one of the system would: it is detached from us and from our
terminal, and what it says goes to a log, whose last lines are in the error where it does not come up.
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
from evaluator.sandbox.docker_client import WAITS, EngineClient, Timeouts, causes, timed_out

START_TIMEOUT_S: Final = 60.0
"""A cold dockerd answers within 2 s; old containers to restore or a slow disk make it longer."""

HANGS: Final = "it accepts, and does not answer"
"""What is said of an engine that is there and stuck; one that refuses says so itself."""


REMEDIES: Final = {"container-init binary not found": "sudo apt-get install -y catatonit"}
"""What to type where an engine's refusal has these words. podman only recommends the init that a worker needs."""


class Daemon(NamedTuple):
    """How an engine is started by hand: its command line, where it will listen, its pid file and its log."""

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


def connect(host: str, environment: Mapping[str, str], waits: Timeouts = WAITS) -> EngineClient:
    """A client whose engine has answered. Raises docker's own errors, OSError or SilentEngineError."""
    _probe(host, waits.probe_s)
    return EngineClient(waits, **docker.utils.kwargs_from_env({**environment, "DOCKER_HOST": host}))


def _probe(host: str, timeout_s: float) -> None:
    """Raise OSError where nobody listens on a local socket; docker-py leaks its own when it finds that out."""
    if host.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as local:
            local.settimeout(timeout_s)
            local.connect(host.removeprefix("unix://"))


def innermost(error: BaseException) -> str:
    """The system's own words, out of the four layers of HTTP that wrap them."""
    if timed_out(error):
        return HANGS
    *_, error = causes(error)
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


@contextlib.contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turn the many errors of the engine's client into ours, in one line.

    A reply that breaks off while it streams is raised by the layer below requests, which is not wrapped.
    """
    try:
        yield
    except SilentEngineError as error:
        raise SilentEngineError(f"{what}: {error}") from error
    except (DockerException, HTTPError, OSError) as error:
        if timed_out(error):
            raise SilentEngineError(f"{what}: the engine fell silent") from error
        words = str(error) if isinstance(error, DockerException) else innermost(error)
        remedy = next((f"; type:\n{line}" for sign, line in REMEDIES.items() if sign in words), "")
        raise EngineError(f"{what}: {' '.join(words.split())}{remedy}") from error


def launch(daemon: Daemon) -> subprocess.Popen[bytes]:
    """Start an engine by hand, detached from us and from our terminal, its output added to its log."""
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
    atexit.register(_let_go, process)
    return process


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """At our end: it outlives us by intention, and Python would warn of a child whose handle is dropped."""
    if process.poll() is None:
        process.returncode = 0


def wait_for_engine(
    host: str, process: subprocess.Popen[bytes] | None, log: str, timeout_s: float = START_TIMEOUT_S
) -> EngineClient:
    """A client of the engine at `host` as soon as it answers.

    Raises:
        EngineError: its process ended, or the time is over.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return connect(host, {})
        except (DockerException, OSError, EngineError) as error:
            reason = innermost(error)
        ended = process.poll() if process else None
        if ended is not None or time.monotonic() > deadline:
            how = f"ended with status {ended}" if ended is not None else f"is silent after {timeout_s:.0f} s ({reason})"
            raise EngineError(f"the container engine we started {how}; its log is {log}{_tail(Path(log))}")
        time.sleep(0.1)


def _tail(log: Path, lines: int = 8) -> str:
    if not log.is_file():
        return ""
    return "\n" + "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
