"""The next run removes the containers that a killed run left in the engine, and no other containers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image import SuiteImage
from evaluator.sandbox.leftovers import LABEL, clear_up, owner_label, remove_leftovers, worker_group

pytestmark = pytest.mark.engine

NOBODY = "4194305-1-" + owner_label(os.getpid()).split("-", 2)[2]
"""The label of an owner on this machine whose process number is above the kernel's maximum."""

HOLD = """
import os, pathlib, sys
from evaluator.sandbox.engine import find_engine
from evaluator.sandbox.leftovers import worker_group
from tests.survival.small_runs import ROOT
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.image import ensure_image
from evaluator.suites.load import load_suite
engine, manifest = find_engine(os.environ), load_suite(ROOT / "fixtures" / "core").manifest
with worker_group(engine, pathlib.Path(sys.argv[1])) as name:
    worker = ContainerWorker(engine, WorkerPlan(ensure_image(engine, manifest, print), manifest, worker_group=name))
    print(worker.container.id, flush=True)
    sys.stdin.read()
"""

Make = Callable[..., Any]


@pytest.fixture
def make(engine: Engine, image: SuiteImage) -> Iterator[Make]:
    """A function that makes a container with these labels and this command, and starts it unless `started` is false."""
    ids = []

    def create(labels: Mapping[str, str], command: list[str], *, started: bool = True) -> Any:
        container = engine.client.containers.create(
            image.reference, command, labels=labels, network_mode="none", init=True
        )
        ids.append(container.id)
        if started:
            container.start()
        return container

    yield create
    for container_id in ids:
        if is_there(engine, container_id):
            engine.client.containers.get(container_id).remove(force=True)


def is_there(engine: Engine, container: str) -> bool:
    containers = engine.client.containers.list(all=True, filters={"id": container}, ignore_removed=True)
    return bool(containers)


SLEEPS, ENDS = ["sleep", "60"], ["true"]
ELSEWHERE = "1-1-another boot.4026531836"

CASES = {
    "a killed run's, at work": ({LABEL: NOBODY}, SLEEPS, True, False),
    "a killed run's, ended": ({LABEL: NOBODY}, ENDS, True, False),
    "a killed run's, not started yet": ({LABEL: NOBODY}, ENDS, False, False),
    "ours, at work": ({LABEL: owner_label(os.getpid())}, SLEEPS, True, True),
    "ours, ended": ({LABEL: owner_label(os.getpid())}, ENDS, True, True),
    "another machine's, at work": ({LABEL: ELSEWHERE}, SLEEPS, True, True),
    "another machine's, not started yet": ({LABEL: ELSEWHERE}, ENDS, False, True),
    "another machine's, ended": ({LABEL: ELSEWHERE}, ENDS, True, False),
    "of an owner that does not read, at work": ({LABEL: "me"}, SLEEPS, True, True),
    "a stranger's, at work": ({}, SLEEPS, True, True),
    "a stranger's, ended": ({"owner": NOBODY}, ENDS, True, True),
}


@pytest.mark.parametrize(("labels", "command", "started", "stays"), CASES.values(), ids=CASES)
def test_only_what_nobody_owns_is_removed(
    engine: Engine, make: Make, labels: Mapping[str, str], command: list[str], started: bool, stays: bool
) -> None:
    container = make(labels, command, started=started)
    if started and command == ENDS:
        container.wait()
    remove_leftovers(engine)
    assert is_there(engine, container.id) is stays


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process with a worker. The process prints the id of its container and waits for the end of its input."""
    paths = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "notes")],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_live_process_keeps_its_workers_and_a_killed_one_loses_them(
    engine: Engine, other: subprocess.Popen[str], tmp_path: Path
) -> None:
    """A live process keeps its worker. If the process is killed, its note makes the next process remove the worker.

    If there is no note, the next process does not contact the engine.
    """
    container = first_line(other)
    clear_up(tmp_path / "notes")
    remove_leftovers(engine)
    assert is_there(engine, container)
    other.kill()
    other.wait()
    clear_up(tmp_path / "notes")
    assert not is_there(engine, container)
    assert list((tmp_path / "notes").iterdir()) == []


def test_a_worker_group_removes_workers_that_did_not_close(engine: Engine, plan: WorkerPlan, tmp_path: Path) -> None:
    """At its end a worker group removes its workers that were not closed, and no other worker.

    An example is a container that the engine made without an answer, because the engine went away.
    """
    with worker_group(engine, tmp_path) as name:
        lost = ContainerWorker(engine, WorkerPlan(plan.image, plan.manifest, plan.cpu, name))
        stays = ContainerWorker(engine, plan)
        assert len(list(tmp_path.iterdir())) == 1
    assert [is_there(engine, worker.container.id) for worker in (lost, stays)] == [False, True]
    assert list(tmp_path.iterdir()) == []
    for worker in (lost, stays):
        worker.close()


def test_owners_are_distinguishable_for_ever() -> None:
    """An owner's label has the process number, the start time and the PID namespace.

    The number alone is not unique, because later processes and other namespaces can have the same number.
    """
    pid, start, namespace = owner_label(os.getpid()).split("-", 2)
    assert (int(pid), start.isdecimal()) == (os.getpid(), True)
    assert namespace.split(".")[1] == str(Path("/proc/self/ns/pid").stat().st_ino)
    assert owner_label(4194305) == ""
