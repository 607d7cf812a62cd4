"""The machine that this program runs on: its programs, and the installation of packages from its Linux distribution.

Only the modules for the container engine and the base image use this module. `Host` is a protocol with two
implementations: `ThisMachine`, and a host with scripted answers for tests, because a test must not install software.
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
"""A function that is called with one sentence before each long step."""

APT_OPTIONS: Final = ("-qq", "-y", "-o", "DPkg::Lock::Timeout=120")
"""apt's options. If another installation is running, wait two minutes for its lock instead of failing at once."""

PACKAGED_BY_APT: Final = frozenset({"debian", "ubuntu"})


class CompletedCommand(NamedTuple):
    """A program's exit status (127 if there is no such program) and its output from both streams."""

    status: int
    output: str

    def tail(self, lines: int = 8) -> str:
        """Return the last lines of the output, where tools usually print the error."""
        return "\n".join(self.output.strip().splitlines()[-lines:])


class Host(Protocol):
    """The interface of a machine with programs and packages."""

    @property
    def is_root(self) -> bool:
        """Return whether this process has root rights, so that it may install packages and start daemons."""
        ...

    @property
    def distribution(self) -> frozenset[str]:
        """Return the names of the distribution and of its parent distributions, such as {"ubuntu", "debian"}."""
        ...

    def has(self, program: str) -> bool:
        """Return whether a program with this name can be run, or whether a file with this absolute path exists."""
        ...

    def run(self, *argv: str, timeout_s: float = 900) -> CompletedCommand:
        """Run a program to its end without a shell, with empty standard input and English messages."""
        ...


class ThisMachine:
    """The machine this process runs on."""

    @property
    def is_root(self) -> bool:
        """Return whether this process runs as user 0."""
        return os.geteuid() == 0

    @property
    def distribution(self) -> frozenset[str]:
        """Return the words in ID and ID_LIKE of the file os-release, or an empty set if there is no such file."""
        try:
            release = platform.freedesktop_os_release()
        except OSError:
            return frozenset()
        return frozenset([release["ID"], *release.get("ID_LIKE", "").split()])

    def has(self, program: str) -> bool:
        """Return whether a program is in PATH or in the system folders, which a plain user's PATH may lack."""
        path = f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"
        return Path(program).exists() if program.startswith("/") else shutil.which(program, path=path) is not None

    def run(self, *argv: str, timeout_s: float = 900) -> CompletedCommand:
        """Run a program. A missing program has status 127, and a program that exceeds the time limit has status 124.

        The program gets the default umask and the default handling of SIGCHLD, because our parent process may have
        changed both. If SIGCHLD is ignored, the exit status is lost.
        """
        _restore_sigchld()
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        environment["PATH"] = f"{environment.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"
        try:
            completed = subprocess.run(
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
        return CompletedCommand(completed.returncode, completed.stdout.decode(errors="replace"))


def _restore_sigchld() -> None:
    """Restore the default handling of SIGCHLD. If our parent process ignored SIGCHLD, every exit status would be 0."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def uses_apt(machine: Host) -> bool:
    """Return whether the distribution is Debian, Ubuntu or derived from one of them, and apt is installed."""
    return bool(machine.distribution & PACKAGED_BY_APT) and machine.has("apt-get")


def install_packages(machine: Host, packages: Sequence[str], progress: Progress) -> None:
    """Install packages from the distribution.

    The first attempt uses the present package lists. It fails if a fresh machine has no lists, or if the lists are
    older than the mirror. Then this function fetches new lists and tries again. It ignores an error while the lists
    are fetched, because the error may concern only a third party's source.

    Raises:
        MissingError: this process may not install packages, or the installation failed. The message ends with the
            command that the user should run.
    """
    names = " ".join(packages)
    if not (machine.is_root and uses_apt(machine)):
        raise MissingError(f"this machine lacks {names}; run:\n{install_command(machine, packages)}")
    progress(f"installing {names} from the distribution")
    install = ("apt-get", "install", *APT_OPTIONS, "--no-install-recommends", *packages)
    if machine.run(*install).status == 0:
        return
    machine.run("apt-get", "update", *APT_OPTIONS)
    result = machine.run(*install)
    if result.status != 0:
        command = install_command(machine, packages)
        raise MissingError(f"{names} could not be installed:\n{result.tail()}\nrun:\n{command}")


def install_command(machine: Host, packages: Sequence[str]) -> str:
    """Return the shell command that installs packages with apt.

    If the machine does not use apt, return a shell comment with the packages' names.
    """
    names = " ".join(packages)
    if not uses_apt(machine):
        return f"# install with this system's package manager: {names}"
    sudo = "" if machine.is_root else "sudo "
    return f"{sudo}apt-get update && {sudo}apt-get install -y --no-install-recommends {names}"
