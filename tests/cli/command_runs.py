"""Functions that run the `bashboard` command in a small checkout, and the tasks of that checkout."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from evaluator.cli import app
from evaluator.testing.checkouts import small_task
from evaluator.testing.executor import Shows
from tests.command_runner import CommandRunner

COMMAND = Path(sys.executable).with_name("bashboard")

TASKS = [
    small_task("files-1", references=("ls a", "echo a"), near_misses=("ls b",)),
    small_task("files-2", references=("cat b", "echo b"), near_misses=("cat a",)),
]
SHOWN: Mapping[str, Shows] = {
    **dict.fromkeys(("ls a", "echo a", "cat a"), "a\n"),
    **dict.fromkeys(("cat b", "echo b"), "b\n"),
    "true": "",
}


class Ended(NamedTuple):
    """The exit code and output of a finished command."""

    returncode: int
    stdout: str
    stderr: str


Bashboard = Callable[..., Ended]


NOWHERE = {"DOCKER_HOST": "unix:///nowhere/docker.sock", "COLUMNS": "80"}
"""Environment variables with which the command finds no container engine."""


def run_in(folder: Path, *arguments: str) -> Ended:
    """Run the installed command in a process of its own."""
    found = subprocess.run(
        [COMMAND, *arguments],
        cwd=folder,
        env={**os.environ, **NOWHERE},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return Ended(found.returncode, found.stdout, found.stderr)


def run_here(folder: Path, *arguments: str) -> Ended:
    """Run the same command in this process, because that is faster. An uncaught exception of the command is raised."""
    with contextlib.chdir(folder):
        found = CommandRunner().invoke(app, arguments, env=NOWHERE, catch_exceptions=False)
    return Ended(found.exit_code, found.stdout, found.stderr)
