"""The container engine: the one place that decides which is used, and why.

An engine that runs is used as it is. Places are asked in this order, and the first that answers is taken:

1. `DOCKER_HOST`, and then nothing else: who names an engine does not want another one.
2. Docker's default socket.
3. podman's socket of the system.
4. The rootless sockets of this user, Docker's and then podman's. They come last because a container without the
   host's root cannot mount an overlay everywhere.

Where none answers and we are root on Debian or Ubuntu, the distribution's Docker is installed if it is missing,
and started: through systemd where that is process 1, otherwise by hand. By hand it gets neither a bridge nor
packet-filter rules. Our containers have no network at all and our image builds use the host's, so an engine of
ours needs neither, leaves the machine's firewall alone, and starts where the kernel has no such tables.

Containers get the engine's default runtime, or the one that `BASHBOARD_RUNTIME` names (such as `runsc` or `crun`).
Whether it serves is found out by every worker as it starts: the runner tries its own jail and refuses to work in one
that does not hold.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from docker.errors import DockerException

from evaluator.errors import EngineError, MissingError
from evaluator.sandbox.daemon import (
    HANGS,
    START_TIMEOUT_S,
    SYSTEM_DAEMON,
    Daemon,
    connect,
    innermost,
    launch,
    wait_for_engine,
)
from evaluator.sandbox.docker_client import WAITS, EngineClient, Timeouts
from evaluator.sandbox.host import Host, Progress, ThisMachine, install_packages, line_to_install, uses_apt

OTHER_START_TIMEOUT_S: Final = 10.0
"""A pid file may be stale: an engine that nobody is really starting must not cost the whole time of a start."""

ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
"""Docker gives the kernel's name of a machine where podman, and every image, has the distribution's."""


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that answered, and what it said about itself when asked once.

    `host` is its address, `why` says in a sentence how it came to be chosen. `security` holds the names of the
    confinements it applies (apparmor, seccomp, selinux, rootless, cgroupns), `runtimes` its low-level runtimes,
    the default one first, `warnings` what it says it cannot do (such as limiting swap). `runtime` is the runtime our
    containers get, empty for the default.
    """

    client: EngineClient = field(repr=False, compare=False)
    host: str
    name: Literal["docker", "podman"]
    version: str
    api_version: str
    architecture: str
    kernel: str
    cgroup_version: int
    storage_driver: str
    security: frozenset[str]
    runtimes: tuple[str, ...]
    warnings: tuple[str, ...]
    started_by_us: bool
    why: str
    runtime: str = ""


class Address(NamedTuple):
    """A place where an engine may listen, and what makes it a candidate."""

    host: str
    origin: str


class NoAnswer(NamedTuple):
    """A place that did not answer, and how."""

    address: Address
    reason: str


def engine_addresses(environment: Mapping[str, str], user: int, default: str = SYSTEM_DAEMON.host) -> list[Address]:
    """The places to ask, in order; see the module's docstring for why this order."""
    if named := environment.get("DOCKER_HOST"):
        return [Address(named, "DOCKER_HOST names it")]
    runtime = environment.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"
    return [
        Address(default, "Docker's default socket"),
        Address("unix:///run/podman/podman.sock", "podman's system socket"),
        Address(f"unix://{runtime}/docker.sock", "this user's rootless Docker"),
        Address(f"unix://{runtime}/podman/podman.sock", "this user's rootless podman"),
    ]


def find_engine(environment: Mapping[str, str], waits: Timeouts = WAITS) -> Engine:
    """The first running engine.

    Raises:
        MissingError: none answers; the message tells each place asked and ends with the line to type. Or it has not
            the runtime that is asked for.
    """
    found = _ask_all(environment, SYSTEM_DAEMON.host, waits)
    if isinstance(found, Engine):
        return with_runtime(found, environment)
    raise MissingError(explain_silence(found, ThisMachine()))


def ensure_engine(
    environment: Mapping[str, str],
    progress: Progress,
    machine: Host | None = None,
    daemon: Daemon = SYSTEM_DAEMON,
    waits: Timeouts = WAITS,
) -> Engine:
    """The first running engine; where there is none and we may, the distribution's, installed and started.

    Raises:
        MissingError: none answers and none may be started here; it ends with the line to type. Or it has not the
            runtime that is asked for.
        EngineError: ours was started and does not answer; the message holds the last lines of its log.
    """
    found = _ask_all(environment, daemon.host, waits)
    engine = found if isinstance(found, Engine) else _start(found, environment, progress, machine, daemon)
    return with_runtime(engine, environment)


def with_runtime(engine: Engine, environment: Mapping[str, str]) -> Engine:
    """The engine with the runtime that BASHBOARD_RUNTIME names, if it does. Raises MissingError where it cannot be had.

    podman takes no runtime from a request: it would use its own without a word.
    """
    named = environment.get("BASHBOARD_RUNTIME", "")
    if named and engine.name == "podman" and named != engine.runtimes[0]:
        raise MissingError(
            f"BASHBOARD_RUNTIME names {named!r}, and podman takes its runtime from its own configuration alone; set "
            f'runtime = "{named}" in the [engine] table of containers.conf, and type:\nunset BASHBOARD_RUNTIME'
        )
    if named and named not in engine.runtimes:
        raise MissingError(
            f"BASHBOARD_RUNTIME names {named!r}, and {engine.name} at {engine.host} has {', '.join(engine.runtimes)}; "
            "register it there, or type:\nunset BASHBOARD_RUNTIME"
        )
    return replace(engine, runtime=named)


def _start(
    found: Sequence[NoAnswer],
    environment: Mapping[str, str],
    progress: Progress,
    machine: Host | None,
    daemon: Daemon,
) -> Engine:
    """The distribution's engine, installed and started where we may."""
    machine = machine or ThisMachine()
    if _hangs(found) or not may_start(environment, machine):
        raise MissingError(explain_silence(found, machine))
    why = "no engine answered and we are root: "
    if not machine.has("dockerd"):
        install_packages(machine, ["docker.io"], progress)
        why += "installed docker.io from the distribution, "
    if machine.has("/run/systemd/system"):
        progress("starting the container engine through systemd")
        client = _start_unit(machine, daemon.host)
        return describe(client, daemon.host, why + "started it through systemd", started_by_us=True)
    progress("starting the container engine by hand")
    client = _await_other_start(daemon) or wait_for_engine(daemon.host, launch(daemon), str(daemon.log))
    return describe(client, daemon.host, why + f"started it by hand (log: {daemon.log})", started_by_us=True)


def _start_unit(machine: Host, host: str) -> EngineClient:
    done = machine.run("systemctl", "start", "docker.service", timeout_s=START_TIMEOUT_S)
    if done.status != 0:
        raise EngineError(f"systemd could not start docker.service:\n{done.tail()}")
    return wait_for_engine(host, None, "journalctl -u docker")


def _await_other_start(daemon: Daemon) -> EngineClient | None:
    """An engine that someone else is just starting, as the package's own installation does on some machines."""
    if not daemon.pidfile.exists():
        return None
    try:
        return wait_for_engine(daemon.host, None, "unknown", OTHER_START_TIMEOUT_S)
    except EngineError:
        return None


def may_start(environment: Mapping[str, str], machine: Host) -> bool:
    """Whether an engine of the distribution may be installed and started: root, apt, and no other engine named."""
    return not environment.get("DOCKER_HOST") and machine.is_root and uses_apt(machine)


def _hangs(silences: Sequence[NoAnswer]) -> bool:
    """Whether an engine is there and stuck; another one would not start beside it."""
    return any(silence.reason == HANGS for silence in silences)


def explain_silence(silences: Sequence[NoAnswer], machine: Host) -> str:
    """Why there is no engine: every place asked and what it said, and as the last line what to type."""
    asked = "\n".join(f"  {silence.address.host}: {silence.reason}" for silence in silences)
    return f"no container engine answers:\n{asked}\ntype:\n{_line_to_type(silences, machine)}"


def _line_to_type(silences: Sequence[NoAnswer], machine: Host) -> str:
    first = silences[0]
    if first.address.origin.startswith("DOCKER_HOST"):
        return "unset DOCKER_HOST"
    if _hangs(silences):
        return "sudo systemctl restart docker" if machine.has("/run/systemd/system") else "# restart the engine"
    if any("permission" in silence.reason.lower() for silence in silences):
        return 'sudo usermod -aG docker "$USER" && newgrp docker'
    if machine.has("dockerd") and not machine.is_root:
        return "sudo systemctl start docker"
    return line_to_install(machine, ["docker.io"])


def _ask_all(environment: Mapping[str, str], default: str, waits: Timeouts) -> Engine | list[NoAnswer]:
    silences = []
    for address in engine_addresses(environment, os.getuid(), default):
        try:
            return describe(
                connect(address.host, environment, waits), address.host, f"it answers, and {address.origin}"
            )
        except (DockerException, OSError, EngineError) as error:
            silences.append(NoAnswer(address, innermost(error)))
    return silences


def describe(client: EngineClient, host: str, why: str, *, started_by_us: bool = False) -> Engine:
    """Ask the engine once who it is; raise docker's own error where it does not say."""
    return engine_of(client, client.version(), client.info(), host, why, started_by_us=started_by_us)


def engine_of(
    client: EngineClient,
    version: Mapping[str, Any],
    info: Mapping[str, Any],
    host: str,
    why: str,
    *,
    started_by_us: bool = False,
) -> Engine:
    """The record of an engine from its replies to `/version` and `/info`; pure."""
    components = {component.get("Name", "") for component in version.get("Components") or ()}
    machine = info.get("Architecture") or version.get("Arch", "")
    default = info.get("DefaultRuntime") or ""
    others = sorted(set(info.get("Runtimes") or ()) - {default})
    return Engine(
        client=client,
        host=host,
        name="podman" if "Podman Engine" in components else "docker",
        version=version["Version"],
        api_version=version["ApiVersion"],
        architecture=ARCHITECTURES.get(machine, machine),
        kernel=info.get("KernelVersion") or "",
        cgroup_version=int(info.get("CgroupVersion") or 1),
        storage_driver=info.get("Driver") or "",
        security=frozenset(_names_of(info.get("SecurityOptions") or ())),
        runtimes=tuple(name for name in (default, *others) if name),
        warnings=tuple(info.get("Warnings") or ()),
        started_by_us=started_by_us,
        why=why,
    )


def _names_of(options: Sequence[str]) -> Iterator[str]:
    """`name=seccomp,profile=default` → `seccomp`; engines before API 1.26 say `seccomp` alone."""
    for option in options:
        yield option.split(",")[0].removeprefix("name=")
