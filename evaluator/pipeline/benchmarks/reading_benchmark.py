"""Measure the commands that only read: the time of each one in a new process, as a person at a terminal starts it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.errors import InfraError, MissingError
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import Progress

_ENDINGS: Final = (0, 1, 3)
"""The exit codes of a command that read everything: a command also tells what was found wanting or is missing."""


@dataclass(frozen=True, slots=True)
class CommandTiming:
    """The seconds of one command: the least of several runs, with the load average of the last minute after them.

    CPU time includes that of the processes that the command started, such as Git.
    """

    command: str
    cpu_s: float
    wall_s: float
    runs: int
    load: float


def reading_commands(project: Project, suite: str) -> list[tuple[str, ...]]:
    """Return the arguments of each measured command. Raises MissingError unless two submissions answer the suite."""
    answering = [entry.slug for entry in load_submissions(project) if suite in entry.manifest.suites]
    if len(answering) < 2:
        raise MissingError(f"expected two submissions that answer {suite}, found {len(answering)}")
    first, second, *_ = answering
    return [
        ("--help",),
        ("standings",),
        ("explain", first, project.suite(suite).tasks[0].id, "--suite", suite),
        ("compare", first, second),
        ("score",),
        ("publish", "plan"),
        ("check",),
        ("judges", "list"),
    ]


def bench_reading(project: Project, progress: Progress, *, suite: str, runs: int) -> list[CommandTiming]:
    """Run each reading command `runs` times. Raises InfraError if a command fails.

    The store must have all verdicts, or `score` executes commands.
    """
    timings = []
    for arguments in reading_commands(project, suite):
        progress.say(" ".join(arguments))
        seconds = [_time_command(project.root, arguments) for _ in range(runs)]
        cpu_s, wall_s = (round(min(column), 2) for column in zip(*seconds, strict=True))
        timings.append(CommandTiming(" ".join(arguments), cpu_s, wall_s, runs, round(os.getloadavg()[0], 1)))
    return timings


def _time_command(root: Path, arguments: tuple[str, ...]) -> tuple[float, float]:
    """Run a command in a new process. Return the seconds of CPU time and of wall-clock time."""
    start = time.perf_counter()
    command = [sys.executable, "-P", "-m", "evaluator.cli", *arguments]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in _ENDINGS:
        raise InfraError(f"bashboard {' '.join(arguments)} ended with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start
