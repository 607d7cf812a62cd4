"""Tests of the programs and packages of the machine on which the sandbox runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evaluator.errors import MissingError
from evaluator.sandbox.host import CompletedCommand, ThisMachine, install_packages
from evaluator.testing.host import ScriptedHost


@pytest.mark.parametrize(
    ("argv", "finished"),
    [
        (["sh", "-c", "echo out; echo err >&2; exit 4"], CompletedCommand(4, "out\nerr\n")),
        (["sh", "-c", "printf '\\377'"], CompletedCommand(0, "\ufffd")),
        (["cat"], CompletedCommand(0, "")),
        (["no-such-program"], CompletedCommand(127, "no-such-program: no such program")),
        (["sleep", "9"], CompletedCommand(124, "sleep: not finished after 0 s")),
    ],
)
def test_whatever_a_program_does_is_a_value(argv: list[str], finished: CompletedCommand) -> None:
    """Every run of a program gives a result.

    This includes both streams, bytes that are not text, empty input, a missing program and a timeout.
    """
    assert ThisMachine().run(*argv, timeout_s=0.4) == finished


ODD = """
import os, signal
for each in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
    signal.signal(each, signal.SIG_IGN)
os.umask(0o077)
from evaluator.sandbox.host import ThisMachine
print(*ThisMachine().run("sh", "-c", "umask; exit 4"))
"""


def test_what_we_inherit_changes_no_program() -> None:
    """A program runs with default signals and the default umask, independent of the parent process.

    If SIGCHLD stayed ignored, every status would be 0. With an inherited umask, others could not read new files.
    """
    ended = subprocess.run([sys.executable, "-c", ODD], capture_output=True, text=True, check=True)
    assert ended.stdout == "4 0022\n\n"


def test_programs_of_the_system_folders_are_found_and_files_by_their_path() -> None:
    """A program is found in the system folders, which the PATH of a plain user may lack, and a file by its path."""
    machine = ThisMachine()
    assert [machine.has(name) for name in ("sh", "/etc/os-release", "no-such-program", "/no/such")] == [
        *(True, True),
        *(False, False),
    ]


def test_packages_are_installed_without_fetching_lists_that_are_there() -> None:
    """If the package lists exist, one command installs the packages."""
    machine, messages = ScriptedHost(programs=["apt-get"]), list[str]()
    install_packages(machine, ["tree", "jq"], messages.append)
    assert len(machine.calls) == 1
    assert machine.calls[0].endswith("--no-install-recommends tree jq")
    assert messages == ["installing tree jq from the distribution"]


def test_lists_are_fetched_where_a_package_is_not_found() -> None:
    """If a package is not found, the package lists are fetched and the installation is tried again.

    The installation is tried again even if a part of the lists cannot be fetched.
    """
    machine = ScriptedHost(
        {
            "apt-get install": [CompletedCommand(100, "E: Unable to locate"), CompletedCommand(0, "")],
            "apt-get update": CompletedCommand(100, ""),
        },
        programs=["apt-get"],
    )
    install_packages(machine, ["tree"], lambda _: None)
    assert [call.split()[1] for call in machine.calls] == ["install", "update", "install"]


@pytest.mark.parametrize(
    "machine",
    [
        ScriptedHost(programs=["apt-get"], is_root=False),
        ScriptedHost(programs=["dnf"], distribution=["fedora"]),
        ScriptedHost(programs=[]),
    ],
)
def test_nothing_is_run_where_we_may_not_install(machine: ScriptedHost) -> None:
    """Nothing is installed without root, on an unknown distribution, or without apt.

    The error has the command to run.
    """
    with pytest.raises(MissingError, match="run:"):
        install_packages(machine, ["tree"], lambda _: None)
    assert machine.calls == []
