"""The security options for our containers, and the facts that the command `doctor` shows about the container engine."""

from __future__ import annotations

from typing import Final, NamedTuple

from evaluator.sandbox.engine import Engine


class Fact(NamedTuple):
    """One line of the output of the command `doctor`: a name, a value, and an explanation."""

    name: str
    value: str
    why: str


_CONFINEMENTS: Final = {
    "AppArmor": (
        "switched off for our containers",
        "its profile for containers, as on Ubuntu, forbids the mounts of a job's jail; the jail itself is stricter",
    ),
    "SELinux": (
        "labels switched off for our containers",
        "they forbid the mounts of a job's jail; the jail itself is stricter",
    ),
    "rootless": ("yes", "it may refuse overlays, which each worker checks: prefer an engine of the system"),
}
"""Our setting for each confinement of the engine, or a possible problem with it, and the reason."""


def container_security(engine: Engine) -> list[str]:
    """Return docker's `security_opt` for a container in which our runner executes the commands of submissions.

    The runner mounts overlays and pivots roots. The engine's default rules (of seccomp, AppArmor and SELinux) forbid
    this, so these options switch them off for the runner. The runner executes each command with our own, stricter
    seccomp filter. An option for AppArmor or SELinux is returned only if the engine uses that system. An engine
    without the system would refuse the option.
    """
    options = ["no-new-privileges", "seccomp=unconfined"]
    if "apparmor" in engine.security:
        options.append("apparmor=unconfined")
    if "selinux" in engine.security:
        options.append("label=disable")
    return options


def engine_facts(engine: Engine) -> list[Fact]:
    """Return the facts that the command `doctor` shows about the engine, most important first.

    A fact's `why` explains the value or a possible problem.
    """
    return [
        Fact("engine", f"{engine.name} {engine.version}", engine.why),
        Fact("address", engine.host, "started by us" if engine.started_by_us else "found running"),
        Fact("API", engine.api_version, "the newest that engine and client both support"),
        Fact("machine", engine.architecture, f"Linux {engine.kernel}"),
        _runtime_fact(engine),
        Fact("storage", engine.storage_driver, "the runner's overlays lie on top of it"),
        Fact("cgroups", f"version {engine.cgroup_version}", "where limits and out-of-memory counts are read"),
        Fact("security", ", ".join(sorted(engine.security)) or "none", "confinements the engine applies"),
        Fact("container options", ", ".join(container_security(engine)), "what our runner needs to build overlays"),
        *(Fact(name, *setting) for name, setting in _CONFINEMENTS.items() if name.lower() in engine.security),
        *(Fact("warning", warning, "reported by the engine") for warning in engine.warnings),
    ]


def _runtime_fact(engine: Engine) -> Fact:
    others = ", ".join(name for name in engine.runtimes if name != (engine.runtime or engine.runtimes[0]))
    if engine.runtime:
        return Fact("runtime", engine.runtime, f"BASHBOARD_RUNTIME names it; there are also: {others or 'none'}")
    why = "the engine's default"
    if others and engine.name == "docker":
        why += f"; BASHBOARD_RUNTIME may name another: {others}"
    return Fact("runtime", "".join(engine.runtimes[:1]) or "unknown", why)
