"""The choice of the container engine (Docker or podman) that runs our containers.

A running engine is used as it is. Addresses are tried in this order, and the first engine that answers is used:

1. `DOCKER_HOST`. If it is set, no other address is tried, because the user wants this engine.
2. Docker's default socket.
3. podman's socket of the system.
4. The rootless sockets of this user, Docker's and then podman's. They come last because on some machines
   only a container with the rights of the host's root can mount an overlay.

If none answers and we are root on Debian or Ubuntu, this program installs the distribution's Docker if it is missing,
and starts it. If systemd is process 1, systemd starts Docker. Otherwise Docker is our child process. This child process
makes no bridge and no packet-filter rules, because our containers have no network and our image builds use the host's
network. So it leaves the machine's firewall unchanged, and starts even if the kernel has no packet-filter tables.

Containers get the engine's default runtime, or the one that `BASHBOARD_RUNTIME` names (such as `runsc` or `crun`).
Every worker checks the runtime when the worker starts: the runner in the worker's container tests its own jail. If the
test fails, the worker is refused.
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
from evaluator.sandbox.docker_client import TIMEOUTS, EngineClient, Timeouts
from evaluator.sandbox.host import Host, Progress, ThisMachine, install_command, install_packages, uses_apt

OTHER_START_TIMEOUT_S: Final = 10.0
"""The wait for an engine that another process is starting. It is short, because the pid file may be stale."""

ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
"""The distribution's name of each machine, as podman and images use it, by the kernel's name, as Docker uses it."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A container engine that answered, and its description of itself.

    `host` is the engine's address, and `why` explains in a sentence why this engine was chosen. `security` names the
    confinements that the engine applies (apparmor, seccomp, selinux, rootless, cgroupns). `runtimes` are the engine's
    low-level runtimes, the default one first. `warnings` are its messages about missing features, such as a swap
    limit. `runtime` is the runtime of our containers. An empty text means the default runtime.
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
    """An address where an engine may listen, and the reason to try it."""

    host: str
    origin: str


class NoAnswer(NamedTuple):
    """An address at which no engine answered, and the reason, such as a refused connection."""

    address: Address
    reason: str


def engine_addresses(environment: Mapping[str, str], user: int, default: str = SYSTEM_DAEMON.host) -> list[Address]:
    """Return the addresses where an engine may listen, in the order of tries. `DOCKER_HOST` excludes all others."""
    if named := environment.get("DOCKER_HOST"):
        return [Address(named, "DOCKER_HOST names it")]
    runtime = environment.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"
    return [
        Address(default, "Docker's default socket"),
        Address("unix:///run/podman/podman.sock", "podman's system socket"),
        Address(f"unix://{runtime}/docker.sock", "this user's rootless Docker"),
        Address(f"unix://{runtime}/podman/podman.sock", "this user's rootless podman"),
    ]


def find_engine(environment: Mapping[str, str], timeouts: Timeouts = TIMEOUTS) -> Engine:
    """Return the first engine that answers at `DOCKER_HOST` or, if this is not set, at one of the usual sockets.

    Raises:
        MissingError: no engine answers, or the engine lacks the runtime that BASHBOARD_RUNTIME names. The message ends
            with the command that the user should run.
    """
    result = _try_addresses(environment, SYSTEM_DAEMON.host, timeouts)
    if isinstance(result, Engine):
        return with_runtime(result, environment)
    raise MissingError(no_engine_message(result, ThisMachine()))


def ensure_engine(
    environment: Mapping[str, str],
    progress: Progress,
    machine: Host | None = None,
    daemon: Daemon = SYSTEM_DAEMON,
    timeouts: Timeouts = TIMEOUTS,
) -> Engine:
    """Return the first engine that answers. If none answers, try to install and start the distribution's engine.

    Raises:
        MissingError: no engine answers and we may not start one on this machine, or the engine lacks the runtime that
            BASHBOARD_RUNTIME names. The message ends with the command that the user should run.
        EngineError: the engine that we started does not answer. The message contains the last lines of its log file.
    """
    result = _try_addresses(environment, daemon.host, timeouts)
    engine = result if isinstance(result, Engine) else _start(result, environment, progress, machine, daemon)
    return with_runtime(engine, environment)


def with_runtime(engine: Engine, environment: Mapping[str, str]) -> Engine:
    """Return the engine with the runtime that the variable BASHBOARD_RUNTIME names, or with its default runtime.

    Raises MissingError if the engine lacks this runtime. The same error is raised if the engine is podman with another
    default runtime, because podman always uses its default runtime.
    """
    named = environment.get("BASHBOARD_RUNTIME", "")
    if named and engine.name == "podman" and named != engine.runtimes[0]:
        raise MissingError(
            f"BASHBOARD_RUNTIME names {named!r}, but podman takes its runtime only from its own configuration; set "
            f'runtime = "{named}" in the [engine] table of containers.conf, and run:\nunset BASHBOARD_RUNTIME'
        )
    if named and named not in engine.runtimes:
        raise MissingError(
            f"BASHBOARD_RUNTIME names {named!r}, but {engine.name} at {engine.host} has {', '.join(engine.runtimes)}; "
            "register it there, or run:\nunset BASHBOARD_RUNTIME"
        )
    return replace(engine, runtime=named)


def _start(
    failures: Sequence[NoAnswer],
    environment: Mapping[str, str],
    progress: Progress,
    machine: Host | None,
    daemon: Daemon,
) -> Engine:
    """Install the distribution's container engine if it is missing, start the engine, and return it.

    Raises MissingError if we may not start an engine on this machine.
    """
    machine = machine or ThisMachine()
    if _hangs(failures) or not may_start(environment, machine):
        raise MissingError(no_engine_message(failures, machine))
    why = "no engine answered and we are root: "
    if not machine.has("dockerd"):
        install_packages(machine, ["docker.io"], progress)
        why += "installed docker.io from the distribution, "
    if machine.has("/run/systemd/system"):
        progress("starting the container engine through systemd")
        result = machine.run("systemctl", "start", "docker.service", timeout_s=START_TIMEOUT_S)
        if result.status != 0:
            raise EngineError(f"systemd could not start docker.service:\n{result.tail()}")
        client = wait_for_engine(daemon.host, None, "journalctl -u docker")
        return describe(client, daemon.host, why + "started it through systemd", started_by_us=True)
    progress("starting the container engine by hand")
    client = _await_other_start(daemon) or wait_for_engine(daemon.host, launch(daemon), str(daemon.log))
    return describe(client, daemon.host, why + f"started it by hand (log: {daemon.log})", started_by_us=True)


def _await_other_start(daemon: Daemon) -> EngineClient | None:
    """Wait for an engine that another process, such as an installer, is perhaps starting.

    Return None if the engine does not answer in time.
    """
    if not daemon.pidfile.exists():
        return None
    try:
        return wait_for_engine(daemon.host, None, "unknown", OTHER_START_TIMEOUT_S)
    except EngineError:
        return None


def may_start(environment: Mapping[str, str], machine: Host) -> bool:
    """Return whether we may install and start an engine: as root, with apt, and without `DOCKER_HOST`."""
    return not environment.get("DOCKER_HOST") and machine.is_root and uses_apt(machine)


def _hangs(failures: Sequence[NoAnswer]) -> bool:
    """Return whether an engine at one of the addresses hangs. A second engine would not start beside a hanging one."""
    return any(failure.reason == HANGS for failure in failures)


def no_engine_message(failures: Sequence[NoAnswer], machine: Host) -> str:
    """Return the message for a missing engine: each address, the reason why none answered, and the command to run."""
    addresses = "\n".join(f"  {failure.address.host}: {failure.reason}" for failure in failures)
    return f"no container engine answers:\n{addresses}\nrun:\n{_command_to_run(failures, machine)}"


def _command_to_run(failures: Sequence[NoAnswer], machine: Host) -> str:
    if failures[0].address.origin.startswith("DOCKER_HOST"):
        return "unset DOCKER_HOST"
    if _hangs(failures):
        return "sudo systemctl restart docker" if machine.has("/run/systemd/system") else "# restart the engine"
    if any("permission" in failure.reason.lower() for failure in failures):
        return 'sudo usermod -aG docker "$USER" && newgrp docker'
    if machine.has("dockerd") and not machine.is_root:
        return "sudo systemctl start docker"
    return install_command(machine, ["docker.io"])


def _try_addresses(environment: Mapping[str, str], default: str, timeouts: Timeouts) -> Engine | list[NoAnswer]:
    failures = []
    for address in engine_addresses(environment, os.getuid(), default):
        try:
            client = connect(address.host, environment, timeouts)
            return describe(client, address.host, f"it answers, and {address.origin}")
        except (DockerException, OSError, EngineError) as error:
            failures.append(NoAnswer(address, innermost(error)))
    return failures


def describe(client: EngineClient, host: str, why: str, *, started_by_us: bool = False) -> Engine:
    """Return the description of the engine that `client` is connected to. Raises docker-py's own errors."""
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
    """Return the description of an engine, read from the engine's replies to `/version` and `/info`."""
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
    """Yield the names of an engine's security options, such as `seccomp` for `name=seccomp,profile=default`.

    Engines with an API before version 1.26 give only the name, such as `seccomp`.
    """
    for option in options:
        yield option.split(",")[0].removeprefix("name=")
