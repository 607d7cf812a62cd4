"""Tests of the choice of the engine, of the reason for the choice, and of the error if there is no engine."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docker.errors import DockerException

from evaluator.errors import EngineError, MissingError
from evaluator.records import SuiteManifest
from evaluator.sandbox.container import WorkerPlan, container_options
from evaluator.sandbox.daemon import Daemon, engine_errors, launch, wait_for_engine
from evaluator.sandbox.diagnostics import container_security, engine_facts
from evaluator.sandbox.engine import (
    Address,
    Engine,
    NoAnswer,
    engine_addresses,
    engine_of,
    ensure_engine,
    find_engine,
    no_engine_message,
    with_runtime,
)
from evaluator.sandbox.host import CompletedCommand
from evaluator.sandbox.image import SuiteImage
from evaluator.testing.host import ScriptedHost

CLIENT: Any = None
"""The client of an engine record. The tests of the record send no request."""

VERSION = {"Version": "28.0.4", "ApiVersion": "1.48", "Arch": "amd64", "Components": [{"Name": "Engine"}]}
PODMAN = {"Version": "4.9.3", "ApiVersion": "1.41", "Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}]}
INFO = {
    "CgroupVersion": "2",
    "Driver": "overlay2",
    "KernelVersion": "6.8.0",
    "Architecture": "x86_64",
    "DefaultRuntime": "runc",
    "Runtimes": {"io.containerd.runc.v2": {}, "runc": {}},
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"],
    "Warnings": ["WARNING: No swap limit support"],
}


def described(info: dict[str, Any] = INFO, version: dict[str, Any] = VERSION, **kwargs: bool) -> Engine:
    return engine_of(CLIENT, version, info, "unix:///here.sock", "the test says so", **kwargs)


def ignore(_: str) -> None:
    return


def test_a_named_engine_is_the_only_one_asked() -> None:
    """If DOCKER_HOST is set, only the engine at this address is tried."""
    addresses = engine_addresses({"DOCKER_HOST": "tcp://127.0.0.1:2375", "XDG_RUNTIME_DIR": "/x"}, 1000)
    assert [address.host for address in addresses] == ["tcp://127.0.0.1:2375"]


@pytest.mark.parametrize(
    ("environment", "runtime"), [({}, "/run/user/1000"), ({"XDG_RUNTIME_DIR": "/x", "DOCKER_HOST": ""}, "/x")]
)
def test_engines_of_the_system_come_before_rootless_ones(environment: dict[str, str], runtime: str) -> None:
    """System engines are tried before rootless engines, in the documented order. An empty variable counts as unset."""
    assert [address.host for address in engine_addresses(environment, 1000)] == [
        "unix:///var/run/docker.sock",
        "unix:///run/podman/podman.sock",
        f"unix://{runtime}/docker.sock",
        f"unix://{runtime}/podman/podman.sock",
    ]


DEFAULT = Address("unix:///var/run/docker.sock", "Docker's default socket")
NAMED = Address("tcp://127.0.0.1:1", "DOCKER_HOST names it")


@pytest.mark.parametrize(
    ("silence", "machine", "line"),
    [
        (NoAnswer(NAMED, "Connection refused"), ScriptedHost(programs=["apt-get"]), "unset DOCKER_HOST"),
        (
            NoAnswer(DEFAULT, "Permission denied"),
            ScriptedHost(programs=["apt-get", "dockerd"], is_root=False),
            'sudo usermod -aG docker "$USER" && newgrp docker',
        ),
        (
            NoAnswer(DEFAULT, "No such file or directory"),
            ScriptedHost(programs=["apt-get", "dockerd"], is_root=False),
            "sudo systemctl start docker",
        ),
        (
            NoAnswer(DEFAULT, "No such file or directory"),
            ScriptedHost(programs=["apt-get"], is_root=False),
            "sudo apt-get update && sudo apt-get install -y --no-install-recommends docker.io",
        ),
        (
            NoAnswer(DEFAULT, "No such file or directory"),
            ScriptedHost(is_root=True, distribution=["fedora"]),
            "# install with this system's package manager: docker.io",
        ),
    ],
)
def test_the_last_line_is_the_one_to_type(silence: NoAnswer, machine: ScriptedHost, line: str) -> None:
    """The error for a missing engine ends with the command to run.

    The command depends on the cause: the address, the rights, the service or the package.
    """
    message = no_engine_message([silence], machine)
    assert message.splitlines()[-1] == line
    assert f"{silence.address.host}: {silence.reason}" in message


@pytest.mark.parametrize(
    ("info", "options"),
    [
        ({}, ["no-new-privileges", "seccomp=unconfined"]),
        ({"SecurityOptions": ["seccomp"]}, ["no-new-privileges", "seccomp=unconfined"]),
        (INFO, ["no-new-privileges", "seccomp=unconfined", "apparmor=unconfined"]),
        ({"SecurityOptions": ["name=selinux"]}, ["no-new-privileges", "seccomp=unconfined", "label=disable"]),
    ],
)
def test_only_confinements_that_the_engine_names_are_switched_off(info: dict[str, Any], options: list[str]) -> None:
    """Only confinements that the engine reports are switched off.

    An engine refuses options of a confinement that it does not know.
    """
    assert container_security(described(info)) == options


CONFINED = {
    "Docker on Ubuntu 24.04": (INFO, VERSION, {"AppArmor": "switched off for our containers"}),
    "Docker on Fedora": (
        {**INFO, "SecurityOptions": ["name=seccomp,profile=builtin", "name=selinux", "name=cgroupns"]},
        VERSION,
        {"SELinux": "labels switched off for our containers"},
    ),
    "rootless Docker": (
        {**INFO, "SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"]},
        VERSION,
        {"rootless": "yes"},
    ),
    "podman on Ubuntu": (
        {**INFO, "Driver": "overlay", "SecurityOptions": ["name=apparmor", "name=seccomp,profile=default"]},
        PODMAN,
        {"AppArmor": "switched off for our containers"},
    ),
    "rootless podman": (
        {**INFO, "SecurityOptions": ["name=seccomp,profile=default", "name=rootless"]},
        PODMAN,
        {"rootless": "yes"},
    ),
    "Docker on Debian 12": ({**INFO, "SecurityOptions": ["name=seccomp,profile=default"]}, VERSION, {}),
}


@pytest.mark.parametrize(("info", "version", "settings"), CONFINED.values(), ids=CONFINED)
def test_what_a_confinement_made_us_set_is_said(
    info: dict[str, Any], version: dict[str, Any], settings: dict[str, str]
) -> None:
    """The facts of an engine list the settings that its confinement required.

    A confinement that the engine does not have is not listed.
    """
    facts = {fact.name: fact for fact in engine_facts(described(info, version))}
    assert {name: facts[name].value for name in ("AppArmor", "SELinux", "rootless") if name in facts} == settings
    assert facts["cgroups"].value == "version 2"


GUARDED = {**INFO, "Runtimes": {"runc": {}, "runsc": {"path": "/usr/bin/runsc"}}}


@pytest.mark.parametrize(
    ("named", "runtime", "expected"),
    [
        ("", "", ("runc", "the engine's default; BASHBOARD_RUNTIME may name another: runsc")),
        ("runsc", "runsc", ("runsc", "BASHBOARD_RUNTIME names it; there are also: runc")),
    ],
)
def test_a_runtime_is_the_engines_unless_one_is_named(
    manifest: SuiteManifest, named: str, runtime: str, expected: tuple[str, str]
) -> None:
    """Every container has the engine's default runtime, or the runtime in BASHBOARD_RUNTIME if it is set.

    The facts that `doctor` prints include the runtime.
    """
    engine = with_runtime(described(GUARDED), {"BASHBOARD_RUNTIME": named})
    image = SuiteImage("bashboard-suite:none", "sha256:0", "amd64", (), manifest)
    assert engine.runtime == runtime
    assert container_options(engine, WorkerPlan(image, manifest))["runtime"] == (runtime or None)
    assert next(fact for fact in engine_facts(engine) if fact.name == "runtime")[1:] == expected


def test_a_runtime_that_the_engine_lacks_is_told_with_those_it_has() -> None:
    """The error for a missing runtime lists the engine's runtimes and ends with the command to run."""
    with pytest.raises(MissingError) as caught:
        with_runtime(described(GUARDED), {"BASHBOARD_RUNTIME": "kata"})
    assert "BASHBOARD_RUNTIME names 'kata', but docker at unix:///here.sock has runc, runsc" in str(caught.value)
    assert str(caught.value).splitlines()[-1] == "unset BASHBOARD_RUNTIME"


def test_a_runtime_is_not_asked_of_podman_which_would_not_hear() -> None:
    """A runtime other than podman's own is refused, because podman ignores a runtime in a request.

    The error names the configuration file in which the runtime can be set.
    """
    with pytest.raises(MissingError, match=r'set runtime = "runsc" in the \[engine\] table of containers\.conf'):
        with_runtime(described(GUARDED, PODMAN), {"BASHBOARD_RUNTIME": "runsc"})
    assert with_runtime(described(GUARDED, PODMAN), {"BASHBOARD_RUNTIME": "runc"}).runtime == "runc"


def test_an_engine_is_read_from_what_it_says() -> None:
    """The record of an engine lists the default runtime first, security features without their settings, and the
    warnings.
    """
    engine = described()
    assert (engine.name, engine.version, engine.api_version) == ("docker", "28.0.4", "1.48")
    assert (engine.cgroup_version, engine.storage_driver, engine.architecture) == (2, "overlay2", "amd64")
    assert engine.security == {"apparmor", "seccomp", "cgroupns"}
    assert engine.runtimes == ("runc", "io.containerd.runc.v2")
    assert engine.warnings == ("WARNING: No swap limit support",)


def test_podman_is_known_by_its_component() -> None:
    """podman is recognised by its name in the list of components, because it uses Docker's protocol."""
    assert described({}, PODMAN).name == "podman"


def test_an_engine_that_says_little_has_version_1_cgroups() -> None:
    """An engine that reports no cgroup version has version 1, because only older engines do not report it."""
    assert described({}).cgroup_version == 1


def test_facts_tell_who_started_the_engine_and_what_it_warns_of() -> None:
    """The facts state that we started the engine and list its warnings. Every fact has a reason."""
    facts = engine_facts(described({**INFO, "SecurityOptions": ["name=rootless"]}, started_by_us=True))
    values = {fact.name: fact for fact in facts}
    assert values["engine"] == ("engine", "docker 28.0.4", "the test says so")
    assert values["address"].why == "started by us"
    assert values["rootless"].value == "yes"
    assert values["warning"].value == "WARNING: No swap limit support"
    assert all(fact.why for fact in facts)


@pytest.mark.parametrize(
    ("host", "reason"),
    [("unix:///nowhere/docker.sock", "No such file or directory"), ("tcp://127.0.0.1:1", "Connection refused")],
)
def test_a_named_engine_that_is_silent_is_reported_with_the_reason(host: str, reason: str) -> None:
    """The error for a named engine that does not answer has the system's reason instead of a chain of HTTP errors."""
    with pytest.raises(MissingError, match=f"{host}: {reason}"):
        find_engine({"DOCKER_HOST": host})


def test_a_refusal_with_a_known_remedy_ends_with_the_line_to_type() -> None:
    """An engine's error with a known remedy ends with the command to run.

    For example, podman's package only recommends the init program that a worker needs.
    """
    words = "container create: container-init binary not found on the host: stat /usr/libexec/podman/catatonit"
    with pytest.raises(EngineError) as caught, engine_errors("a worker container could not be started"):
        raise DockerException(words)
    assert str(caught.value).splitlines() == [
        f"a worker container could not be started: {words}; run:",
        "sudo apt-get install -y catatonit",
    ]


def test_no_engine_is_started_beside_a_named_one() -> None:
    """If DOCKER_HOST names an engine that does not answer, no other engine is started, even as root on Debian."""
    machine = ScriptedHost(programs=["apt-get", "dockerd"])
    with pytest.raises(MissingError, match="unset DOCKER_HOST"):
        ensure_engine({"DOCKER_HOST": "unix:///nowhere/docker.sock"}, ignore, machine)
    assert machine.calls == []


@pytest.fixture
def private(tmp_path: Path) -> Iterator[Daemon]:
    """The daemon of an engine for this test. All its files are separate from those of the machine's engine.

    A socket's address has at most 107 bytes, so the engine's own sockets need a folder with a short path.
    """
    if Path("/run/podman/podman.sock").exists():
        pytest.skip("podman's system socket is here and would be used before one is started")
    host = f"unix://{tmp_path}/d.sock"
    pidfile = tmp_path / "d.pid"
    with tempfile.TemporaryDirectory(prefix="exec-", ignore_cleanup_errors=True) as folder:
        command = (
            *("dockerd", "--iptables=false", "--bridge=none", f"--host={host}", f"--pidfile={pidfile}"),
            *(f"--data-root={tmp_path}/data", f"--exec-root={folder}", "--containerd-namespace=bashboard-test"),
        )
        yield Daemon(command, host, pidfile, tmp_path / "d.log")


@pytest.fixture
def nobodys(tmp_path: Path) -> dict[str, str]:
    """The environment of a user without a rootless engine."""
    return {"XDG_RUNTIME_DIR": str(tmp_path / "empty")}


def test_a_missing_engine_is_installed_and_a_failure_to_is_told(private: Daemon, nobodys: dict[str, str]) -> None:
    """A missing engine is installed. If that fails, package lists are fetched and the installation is tried once more.

    The error of a second failure ends with the command to run.
    """
    machine = ScriptedHost(
        {"apt-get install": CompletedCommand(100, "E: Unable to locate package")}, programs=["apt-get"]
    )
    with pytest.raises(MissingError) as caught:
        ensure_engine(nobodys, ignore, machine, private)
    assert [call.split()[:2] for call in machine.calls] == [
        ["apt-get", "install"],
        ["apt-get", "update"],
        ["apt-get", "install"],
    ]
    assert "E: Unable to locate package" in str(caught.value)
    assert str(caught.value).endswith("apt-get install -y --no-install-recommends docker.io")


def test_an_unprivileged_user_gets_the_line_to_type_and_nothing_is_done(
    private: Daemon, nobodys: dict[str, str]
) -> None:
    """Without root, nothing is installed or started, and the error has the command to run."""
    machine = ScriptedHost(programs=["apt-get"], is_root=False)
    with pytest.raises(MissingError, match="sudo apt-get install"):
        ensure_engine(nobodys, ignore, machine, private)
    assert machine.calls == []


def test_systemd_starts_the_engine_where_it_is_there(private: Daemon, nobodys: dict[str, str]) -> None:
    """If systemd is running, it starts the engine. The error of a failed start has systemd's message."""
    machine = ScriptedHost(
        {"systemctl start docker.service": CompletedCommand(1, "Job for docker.service failed.")},
        programs=["apt-get", "dockerd", "/run/systemd/system"],
    )
    with pytest.raises(EngineError, match=r"Job for docker\.service failed"):
        ensure_engine(nobodys, ignore, machine, private)


@pytest.mark.parametrize(
    ("script", "timeout_s", "message"),
    [
        ("echo no such table; exit 3", 10.0, r"ended with status 3; its log is .*d\.log\nno such table"),
        ("exec sleep 60", 0.3, "does not answer after 0 s"),
    ],
)
def test_an_engine_that_does_not_come_up_is_told_with_the_end_of_its_log(
    tmp_path: Path, script: str, timeout_s: float, message: str
) -> None:
    """The wait for an engine that ends or hangs is bounded, and the error of an ended engine has the end of its log."""
    host = f"unix://{tmp_path}/d.sock"
    daemon = Daemon(("sh", "-c", script), host, tmp_path / "d.pid", tmp_path / "d.log")
    process = launch(daemon)
    try:
        with pytest.raises(EngineError, match=message):
            wait_for_engine(host, process, str(daemon.log), timeout_s)
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def ended(private: Daemon) -> Iterator[Callable[[], None]]:
    """A function that ends the private engine by its pid file. It is also called after the test."""

    def end() -> None:
        if private.pidfile.exists():
            pid = int(private.pidfile.read_text())
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)

    yield end
    end()


@pytest.mark.engine
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("dockerd") is None or Path("/run/systemd/system").exists(),
    reason="an engine is started by hand only as root, where dockerd is and systemd is not",
)
@pytest.mark.usefixtures("ended")
def test_an_engine_is_started_once_and_then_found(private: Daemon, nobodys: dict[str, str]) -> None:
    """The first call starts the engine, and the second call uses it."""
    messages: list[str] = []
    first = ensure_engine(nobodys, messages.append, daemon=private)
    second = ensure_engine(nobodys, messages.append, daemon=private)
    assert (first.started_by_us, second.started_by_us) == (True, False)
    assert first.host == second.host == private.host
    assert first.name == "docker"
    assert messages == ["starting the container engine by hand"]
    for engine in (first, second):
        engine.client.close()


@pytest.mark.engine
def test_the_running_engine_describes_itself() -> None:
    """The record of the running engine has every field that the sandbox needs."""
    engine = find_engine(os.environ)
    assert engine.client.ping()
    assert engine.cgroup_version in (1, 2)
    assert engine.runtimes
    assert engine.storage_driver
    engine.client.close()
