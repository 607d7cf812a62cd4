"""What we may do to the machine we run on: look for programs, run them, add packages from its distribution.

The engine and the base image both need this, and nothing else does. It is a seam of its own because installing
software is the one effect that a test must not have: `evaluator.testing` ships a machine played from a table.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from evaluator.errors import MissingError

Progress = Callable[[str], None]
"""Told in one sentence what a long step is about to do."""

APT_OPTIONS: Final = ("-qq", "-y", "-o", "DPkg::Lock::Timeout=120")
"""Another installation may be running: wait for its lock two minutes instead of failing at once."""

PACKAGED_BY_APT: Final = frozenset({"debian", "ubuntu"})


class CompletedCommand(NamedTuple):
    """What a program left: its exit status (127 where there is no such program) and all it printed, in order."""

    status: int
    output: str

    def tail(self, lines: int = 8) -> str:
        """The last lines of the output, which is where tools say what went wrong."""
        return "\n".join(self.output.strip().splitlines()[-lines:])


class Host(Protocol):
    """A machine with programs; `distribution` holds its own name and those it derives from, as os-release says."""

    @property
    def is_root(self) -> bool:
        """Whether we may install packages and start daemons."""
        ...

    @property
    def distribution(self) -> frozenset[str]:
        """Such as {"ubuntu", "debian"}."""
        ...

    def has(self, program: str) -> bool:
        """Whether a program of that name can be run, or a file of that absolute path exists."""
        ...

    def run(self, *argv: str, timeout_s: float = 900) -> CompletedCommand:
        """Run a program to its end without a shell, standard input empty, English messages."""
        ...


class ThisMachine:
    """The machine this process runs on."""

    @property
    def is_root(self) -> bool:
        """Whether we are user 0."""
        return os.geteuid() == 0

    @property
    def distribution(self) -> frozenset[str]:
        """ID and ID_LIKE of os-release; empty where there is none."""
        try:
            release = platform.freedesktop_os_release()
        except OSError:
            return frozenset()
        return frozenset([release["ID"], *release.get("ID_LIKE", "").split()])

    def has(self, program: str) -> bool:
        """Look along PATH and in the system folders, which a plain user's PATH may lack."""
        path = f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"
        return Path(program).exists() if program.startswith("/") else shutil.which(program, path=path) is not None

    def run(self, *argv: str, timeout_s: float = 900) -> CompletedCommand:
        """Run it; one that is missing or out of time is a `CompletedCommand` too, since callers treat both as failure.

        It makes files as programs expect to, and its status reaches us, whatever we inherited from who started us.
        """
        _want_statuses()
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        environment["PATH"] = f"{environment.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                umask=0o022,
                timeout=timeout_s,
                check=False,
            )
        except FileNotFoundError:
            return CompletedCommand(127, f"{argv[0]}: no such program")
        except subprocess.TimeoutExpired:
            return CompletedCommand(124, f"{argv[0]}: not finished after {timeout_s:.0f} s")
        return CompletedCommand(done.returncode, done.stdout.decode(errors="replace"))


def _want_statuses() -> None:
    """Undo that the ends of children are ignored, which is inherited and turns every status into 0."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def uses_apt(machine: Host) -> bool:
    """Whether packages come from Debian or Ubuntu, or from one that says it is like them."""
    return bool(machine.distribution & PACKAGED_BY_APT) and machine.has("apt-get")


def install_packages(machine: Host, packages: Sequence[str], progress: Progress) -> None:
    """Add packages from the distribution.

    A first attempt uses the package lists as they are; where it fails (lists absent on a fresh machine, or older
    than the mirror) they are fetched and the attempt repeated. The fetch may fail in part, as where a third
    party's source is gone: what counts is whether the packages can be had after it.

    Raises:
        MissingError: we may not install, or the packages cannot be had; it ends with the line to type.
    """
    names = " ".join(packages)
    if not (machine.is_root and uses_apt(machine)):
        raise MissingError(f"this machine lacks {names}; type:\n{line_to_install(machine, packages)}")
    progress(f"installing {names} from the distribution")
    install = ("apt-get", "install", *APT_OPTIONS, "--no-install-recommends", *packages)
    if machine.run(*install).status == 0:
        return
    machine.run("apt-get", "update", *APT_OPTIONS)
    done = machine.run(*install)
    if done.status != 0:
        raise MissingError(
            f"{names} could not be installed:\n{done.tail()}\ntype:\n{line_to_install(machine, packages)}"
        )


def line_to_install(machine: Host, packages: Sequence[str]) -> str:
    """The one line that installs packages here, or says what to install where we do not know how."""
    names = " ".join(packages)
    if not uses_apt(machine):
        return f"# install with this system's package manager: {names}"
    sudo = "" if machine.is_root else "sudo "
    return f"{sudo}apt-get update && {sudo}apt-get install -y --no-install-recommends {names}"
