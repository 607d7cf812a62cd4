"""Whole runs of the installed command in a small checkout, to be disturbed: one task a topic of core, in one variant.

A run takes seconds, and still has worlds with processes, verdicts of several kinds, and commands that are run again.
What a run came to is the standings it prints and its rows of verdicts, to the byte.
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
import tomllib
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


class Ended(NamedTuple):
    """How the command ended."""

    code: int
    stdout: str
    stderr: str


def small_checkout_of_core(path: Path) -> Project:
    """A copy of the checkout whose suite and submissions have the first task of each topic and variant alone."""
    project = copy_checkout(ROOT, path)
    chosen = set()
    for file in (path / "fixtures" / "core" / "tasks").glob("*.jsonl"):
        first = file.read_text().splitlines(keepends=True)[0]
        chosen.add(json.loads(first)["id"])
        file.write_text(first)
    for file in path.glob("submissions/*/core.jsonl"):
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if json.loads(line)["task"] in chosen))
    for file in path.glob("fixtures/core/worlds/*/world.toml"):
        file.write_text(_with_one_variant(file.read_text()))
    return project


def _with_one_variant(world: str) -> str:
    """A world's manifest without all variants but the first. What TOML has of values here, JSON writes alike."""
    fields = tomllib.loads(world)
    name, seed = json.dumps(fields["variants"][0]["name"]), fields["variants"][0]["seed"]
    others = "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items() if key != "variants")
    return f"{others}variants = [{{ name = {name}, seed = {seed} }}]\n"


class Checkout:
    """The small checkout, and how the command is run in it: with this environment added to ours."""

    def __init__(self, root: Path, environment: Mapping[str, str] = NOTHING) -> None:
        self.root = root
        self.environment = {**os.environ, **environment}
        self.store = Project.find(root).store_path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """The command at work."""
        return subprocess.Popen(
            [COMMAND, *arguments],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> Ended:
        """The command from start to end."""
        return finish(self.start(*arguments))

    def verdicts(self) -> list[tuple[str, ...]]:
        """The store's rows of verdicts, by key. Asserts that the store is whole."""
        with contextlib.closing(sqlite3.connect(self.store)) as database:
            rows = database.execute("SELECT * FROM verdicts ORDER BY key").fetchall()
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return rows

    def executed(self) -> int:
        """How many executions have evidence by now."""
        if not self.store.exists():
            return 0
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=rw", uri=True, timeout=60)) as database:
            try:
                (count,) = database.execute("SELECT count(*) FROM evidence").fetchone()
            except sqlite3.OperationalError:  # so early that there is no table yet
                return 0
        return int(count)

    def wait_for_evidence(self, process: subprocess.Popen[str], least: int, timeout_s: float = 120) -> None:
        """Until so many executions are done, with the process still at work."""
        deadline = time.monotonic() + timeout_s
        while self.executed() < least:
            assert process.poll() is None, finish(process)
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def files(self) -> set[str]:
        """Every file and folder of the checkout."""
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*")}

    def copied(self, root: Path) -> Checkout:
        """The same checkout elsewhere, with nothing executed."""
        shutil.copytree(self.root, root, ignore=shutil.ignore_patterns(".bashboard"))
        return Checkout(root, self.environment)


def finish(process: subprocess.Popen[str], timeout_s: float = 300) -> Ended:
    """How a process ends that is left to itself."""
    stdout, stderr = process.communicate(timeout=timeout_s)
    return Ended(process.returncode, stdout, stderr)


def workers_of(engine: Engine, pid: int) -> list[str]:
    """Ids of the containers that a process owns or left behind, in whatever state."""
    found = engine.client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
    return [each.id for each in found if each.labels[LABEL].startswith(f"{pid}-")]
