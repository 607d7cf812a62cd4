"""`bashboard score` with real containers: a first run, a second run that executes nothing, and runs that are killed.

The tests use a copy of the checkout. Its core suite has a few commands about files and no scripts, so a run is short.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from evaluator.pipeline.project import Project
from evaluator.sandbox.engine import find_engine
from evaluator.sandbox.leftovers import LABEL
from evaluator.testing.checkouts import copy_checkout
from tests.cli.command_runs import COMMAND
from tests.progress_reports import reported_executions

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]


class Scored(NamedTuple):
    """A checkout after a first run of `bashboard score`, with the output of that run."""

    project: Project
    stdout: str
    stderr: str


def start(project: Project, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, *arguments],
        cwd=project.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(project: Project, *arguments: str) -> tuple[int, str, str]:
    process = start(project, *arguments)
    stdout, stderr = process.communicate(timeout=600)
    return process.returncode, stdout, stderr


def executed(project: Project) -> Counter[tuple[str, int]]:
    """Return how often each pair of key and run number is in the store's evidence."""
    if not project.store_path.exists():
        return Counter()
    with sqlite3.connect(f"file:{project.store_path}?mode=ro", uri=True, timeout=60) as database:
        try:
            return Counter(database.execute("SELECT key, run FROM evidence").fetchall())
        except sqlite3.OperationalError:  # the store has no table yet
            return Counter()


def containers_of(pid: int) -> list[str]:
    """Return the names of all containers of a process. A container need not be running."""
    listed = find_engine(os.environ).client.containers.list(all=True, ignore_removed=True, filters={"label": LABEL})
    return [each.name for each in listed if each.labels[LABEL].startswith(f"{pid}-")]


def wait_for_evidence(project: Project, process: subprocess.Popen[str], least: int) -> None:
    """Wait until the store has evidence of at least `least` executions. Fail if the process ends earlier."""
    deadline = time.monotonic() + 300
    while sum(executed(project).values()) < least:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_until_gone(pid: int) -> list[str]:
    """Wait at most 30 seconds until a process has no containers, and return the remaining ones."""
    deadline = time.monotonic() + 30
    while containers_of(pid) and time.monotonic() < deadline:
        time.sleep(0.2)
    return containers_of(pid)


def fresh(path: Path) -> Project:
    return copy_checkout(ROOT, path, lambda task: "files-000" <= task["id"] < "files-009" and "driver" not in task)


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    project = fresh(tmp_path_factory.mktemp("scored"))
    code, stdout, stderr = run(project, "score", "--json")
    assert code == 0, stderr
    return Scored(project, stdout, stderr)


@pytest.fixture
def copied(scored: Scored, tmp_path: Path) -> Project:
    """A copy of the scored checkout with its store, which a test may change."""
    shutil.copytree(scored.project.root, tmp_path / "copy")
    return Project.find(tmp_path / "copy")


def test_from_nothing_second_references_pass_everything_and_doing_nothing_passes_nothing(scored: Scored) -> None:
    accuracy = {row["submission"]: row["accuracy"] for row in json.loads(scored.stdout)}
    assert (accuracy["second-reference"], accuracy["always-true"]) == (1.0, 0.0)
    assert accuracy.keys() == {folder.name for folder in scored.project.submission_folders()}
    assert "executing: " in scored.stderr


def test_standings_as_json_are_what_scoring_printed(scored: Scored) -> None:
    assert run(scored.project, "standings", "--json") == (0, scored.stdout, "")


def test_again_executes_nothing(scored: Scored) -> None:
    before = executed(scored.project)
    code, stdout, stderr = run(scored.project, "score", "--json")
    assert (code, stdout, executed(scored.project)) == (0, scored.stdout, before)
    assert "executing" not in stderr


def test_an_edited_command_is_the_only_one_executed(copied: Project) -> None:
    """Only the edited command is executed, and only once: it fails in the first variant, where no reference varies."""
    file = copied.root / "submissions" / "always-true" / "core.jsonl"
    first, *rest = file.read_text().splitlines(keepends=True)
    file.write_text("".join([first.replace('"true"', '"true # edited"'), *rest]))
    before = executed(copied)
    assert run(copied, "score")[0] == 0
    new = executed(copied) - before
    assert [repeat for _, repeat in new] == [0]


def test_an_answer_is_explained_by_verdict_and_reason(scored: Scored) -> None:
    task = scored.project.suite("core").tasks[0].id
    code, stdout, _ = run(scored.project, "explain", "always-true", task)
    assert code == 0
    assert "FAIL  decided by " in stdout
    assert "because  " in stdout
    code, stdout, _ = run(scored.project, "explain", "second-reference", task, "--json")
    assert json.loads(stdout)["finding"]["outcome"] == "pass"


@pytest.mark.soak
def test_one_worker_comes_to_the_same_board(scored: Scored, tmp_path: Path) -> None:
    code, stdout, stderr = run(fresh(tmp_path), "score", "--json", "--workers", "1")
    assert (code, stdout) == (0, scored.stdout), stderr


@pytest.mark.soak
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killed_in_the_middle_it_continues_where_it_was(scored: Scored, tmp_path: Path, blow: signal.Signals) -> None:
    project = fresh(tmp_path)
    process = start(project, "score")
    wait_for_evidence(project, process, 30)
    process.send_signal(blow)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in errors
    done = executed(project)
    assert len(done) < len(executed(scored.project))
    code, stdout, stderr = run(project, "score", "--json")
    assert (code, stdout) == (0, scored.stdout)
    assert reported_executions(stderr) == len(executed(project) - done)
    assert wait_until_gone(process.pid) == []


@pytest.mark.soak
def test_two_at_once_in_one_checkout_come_to_the_same_board(scored: Scored, tmp_path: Path) -> None:
    project = fresh(tmp_path)
    both = [start(project, "score", "--json", "--workers", "1") for _ in range(2)]
    ended = [process.communicate(timeout=600) for process in both]
    assert [stdout for stdout, _ in ended] == [scored.stdout] * 2
    assert [wait_until_gone(process.pid) for process in both] == [[], []]
