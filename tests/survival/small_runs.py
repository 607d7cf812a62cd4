"""Complete runs of the installed command in a small checkout: one task per topic of core, in one variant.

A run takes seconds. It still has worlds with processes, verdicts of several kinds, and repeated executions.
Two runs are equal if they print the same standings and store the same rows of verdicts.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from evaluator.pipeline.project import Project
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.leftovers import LABEL
from evaluator.testing.checkouts import copy_checkout

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("bashboard")
NOTHING: Mapping[str, str] = {}


class RunResult(NamedTuple):
    """The exit code and output of a run."""

    code: int
    stdout: str
    stderr: str


SLOW = "lab"
"""A world whose many processes would take half the time of a run. The world `buildhost` has processes too."""


def small_checkout_of_core(path: Path) -> Project:
    """Copy the checkout, and keep only the first advanced task of each topic of core, and each world's first variant.

    The submissions keep only their answers to these tasks. All other suites and the world SLOW are omitted.
    """
    chosen = set()
    for file in (ROOT / "fixtures" / "core" / "tasks").glob("advanced/*.jsonl"):
        tasks = map(json.loads, file.read_text().splitlines())
        chosen.add(next(task["id"] for task in tasks if task["world"] != SLOW))
    assert chosen
    project = copy_checkout(ROOT, path, lambda task: task["id"] in chosen)
    for file in path.glob("fixtures/core/worlds/*/world.toml"):
        file.write_text(_with_one_variant(file.read_text()))
    return project


def _with_one_variant(world: str) -> str:
    """Return a world's manifest with only its first variant, at the suite's clock and without fresh variants."""
    head, first, *_ = world.split("[[variants]]")
    kept = [
        line
        for line in (head + "[[variants]]" + first).splitlines()
        if not line.startswith(("fresh", "clock", "order"))
    ]
    return "".join(f"{line}\n" for line in kept)


class Checkout:
    """The small checkout, in which the command runs with `environment` added to this process's environment."""

    def __init__(self, root: Path, environment: Mapping[str, str] = NOTHING) -> None:
        self.root = root
        self.environment = {**os.environ, **environment}
        self.store = Project.find(root).store_path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the command."""
        return subprocess.Popen(
            [COMMAND, *arguments],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> RunResult:
        """Run the command to its end."""
        return finish(self.start(*arguments))

    def verdicts(self) -> list[tuple[str, ...]]:
        """Return the store's rows of verdicts, sorted by key. Assert that the store is not corrupt."""
        with contextlib.closing(sqlite3.connect(self.store)) as database:
            rows = database.execute("SELECT * FROM verdicts ORDER BY key").fetchall()
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return rows

    def executed(self) -> int:
        """Return the number of executions that have evidence by now."""
        if not self.store.exists():
            return 0
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=rw", uri=True, timeout=60)) as database:
            try:
                (count,) = database.execute("SELECT count(*) FROM evidence").fetchone()
            except sqlite3.OperationalError:  # the run has not made the table yet
                return 0
        return int(count)

    def wait_for_evidence(self, process: subprocess.Popen[str], least: int, timeout_s: float = 120) -> None:
        """Wait until `least` executions are done, and assert that the process still runs."""
        deadline = time.monotonic() + timeout_s
        while self.executed() < least:
            assert process.poll() is None, finish(process)
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def files(self) -> set[str]:
        """Return every file and folder of the checkout."""
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*")}

    def copied(self, root: Path) -> Checkout:
        """Copy the checkout to `root`, without executions."""
        shutil.copytree(self.root, root, ignore=shutil.ignore_patterns(".bashboard"))
        return Checkout(root, self.environment)


def finish(process: subprocess.Popen[str], timeout_s: float = 300) -> RunResult:
    """Wait for a process to end and return its result. Kill the process after the time limit."""
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return RunResult(process.returncode, stdout, stderr)


def workers_of(engine: Engine, pid: int) -> list[str]:
    """Return the ids of the containers that a process owns or left behind, in any state."""
    containers = engine.client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
    return [container.id for container in containers if container.labels[LABEL].startswith(f"{pid}-")]
