"""Containers that are ended from outside while they execute commands: no command is charged.

If a command ends its containers itself, the command is charged: the result is a crash.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from docker.errors import APIError

from evaluator.errors import EngineError, SandboxError
from evaluator.records import Ending, Evidence
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.pool import PAUSES_S, Pool
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.sandbox.worker import Line, OnSleep, Worker
from tests.sandbox_harness import TINY
from tests.survival.conftest import Undisturbed
from tests.survival.small_runs import Checkout, RunResult, finish, workers_of

pytestmark = pytest.mark.engine

SEED = 89
DONE = Request.of(TINY, b"echo done")
LONG = "sleep 60"
"""The command that a worker executes when its container is ended. The command lasts until the wall-clock limit."""
CRASH = """
import os, pathlib, signal
os.kill(int(pathlib.Path('/proc/1/task/1/children').read_text()), signal.SIGSEGV)
"""

Blow = Callable[[Any], object]

BLOWS: dict[str, Blow] = {
    "docker kill": lambda container: container.kill(),
    "docker kill -s TERM": lambda container: container.kill("SIGTERM"),
    "docker stop": lambda container: container.stop(timeout=1),
    "docker rm -f": lambda container: container.remove(force=True),
}


class Doomed:
    """A worker whose container is ended soon after it receives a command. The worker executes `LONG` instead."""

    def __init__(self, worker: ContainerWorker, blow: Blow) -> None:
        self._worker, self._strike = worker, threading.Timer(0.3, blow, [worker.container])
        self.container_id, self.started = worker.container_id, worker.started

    def ask(self, line: Line, timeout_s: float, on_sleep: OnSleep | None = None) -> Line:
        self._strike.start()
        return self._worker.ask({**line, "command": LONG}, timeout_s)

    def tell(self, line: Line) -> None:
        self._worker.tell(line)

    def close(self) -> None:
        self._strike.join()
        self._worker.close()


class Saboteur:
    """A starter of workers that ends the containers of the first ones."""

    def __init__(self, engine: Engine, plan: WorkerPlan, blow: Blow, times: int) -> None:
        self._engine, self._plan, self._blow, self._left = engine, plan, blow, times
        self.pauses: list[float] = []

    def start(self, _: int) -> Worker:
        worker = ContainerWorker(self._engine, self._plan)
        self._left -= 1
        return Doomed(worker, self._blow) if self._left >= 0 else worker

    def execute(self, request: Request = DONE) -> ExecutionResult:
        """Return the result of a request. The pool's pauses are recorded and not waited for."""
        with Pool(self.start, 1, self._plan.manifest.limits.wall_s, self.pauses.append) as pool:
            ((_, answer),) = pool.execute([request])
        return answer


@pytest.mark.parametrize(
    "blow",
    [
        pytest.param(blow, id=name, marks=pytest.mark.soak if "stop" in name or "TERM" in name else ())
        for name, blow in BLOWS.items()
    ],
)
def test_a_command_is_not_charged_for_containers_that_others_end(engine: Engine, plan: WorkerPlan, blow: Blow) -> None:
    """A command succeeds although two of its containers are ended from outside.

    A command that ends two containers itself is charged.
    """
    saboteur = Saboteur(engine, plan, blow, 2)
    answer = saboteur.execute()
    assert isinstance(answer, Evidence), answer
    assert (answer.ending, answer.stdout.data) == (Ending.EXITED, b"done\n")
    assert saboteur.pauses == list(PAUSES_S[:2])


@pytest.mark.soak
def test_containers_that_are_ended_again_and_again_are_an_infra_error(engine: Engine, plan: WorkerPlan) -> None:
    answer = Saboteur(engine, plan, BLOWS["docker kill"], 100).execute()
    assert isinstance(answer, EngineError)
    assert str(answer) == "the worker's container was ended from outside (status 137)"


def test_a_runner_that_crashes_twice_is_the_commands_doing(engine: Engine, plan: WorkerPlan) -> None:
    """A command whose runner crashes twice is charged, because a segmentation fault does not come from outside."""
    saboteur = Saboteur(engine, plan, lambda container: container.exec_run(["python3", "-c", CRASH]), 2)
    assert saboteur.execute() == Evidence(ending=Ending.CRASH)
    assert saboteur.pauses == []


def test_a_world_whose_build_ends_its_container_is_not_charged_to_a_command(engine: Engine, plan: WorkerPlan) -> None:
    """A crash during the build of a world is an error of the world, and no command is charged.

    An idle command in the same world ends in the same way.
    """
    world = replace(TINY, build=b"sleep 60")
    saboteur = Saboteur(engine, plan, lambda container: container.exec_run(["python3", "-c", CRASH]), 3)
    answer = saboteur.execute(Request.of(world, b"true"))
    assert isinstance(answer, SandboxError), answer
    assert "world tiny, variant plain: its build.sh" in str(answer)
    assert saboteur.pauses == []


@pytest.fixture
def worker(engine: Engine, plan: WorkerPlan) -> Iterator[ContainerWorker]:
    worker = ContainerWorker(engine, plan)
    yield worker
    worker.close()


def test_a_container_that_was_paused_is_an_infra_error(worker: ContainerWorker) -> None:
    worker.tell(DONE.world.to_line())
    worker.container.pause()
    with pytest.raises(EngineError, match="paused from outside"):
        worker.ask({**DONE.job.to_line(), "command": LONG}, 2)


def strike(engine: Engine, checkout: Checkout, times: int, draw: random.Random) -> RunResult:
    """Run the command to its end, and end `times` of its containers at random times. Return the run's result."""
    process = checkout.start("score", "--json")
    done = 0
    while process.poll() is None and done < times:
        time.sleep(draw.uniform(0.1, 0.8))
        for name in workers_of(engine, process.pid)[:1]:
            with contextlib.suppress(APIError):  # the run removed the container first
                draw.choice(list(BLOWS.values()))(engine.client.containers.get(name))
                done += 1
    assert done > 0
    ended = finish(process)
    assert workers_of(engine, process.pid) == []
    return ended


def test_a_run_whose_workers_are_ended_comes_to_the_same(
    undisturbed: Undisturbed, checkout: Checkout, engine: Engine
) -> None:
    """A run gives the usual results although three containers are ended, because the pool starts new workers."""
    draw = random.Random(SEED)  # noqa: S311 - random times, no secret
    ended = strike(engine, checkout, 3, draw)
    assert (ended.code, ended.stdout) == (0, undisturbed.standings), ended.stderr
    assert checkout.verdicts() == undisturbed.verdicts


@pytest.mark.soak
def test_a_run_whose_workers_are_ended_all_the_time_scores_nothing_wrong(
    undisturbed: Undisturbed, checkout: Checkout, engine: Engine
) -> None:
    """A run never stores a wrong verdict although fifteen containers are ended.

    If a command loses all its attempts, the run ends with an infrastructure failure, and the next run completes it.
    """
    draw = random.Random(SEED)  # noqa: S311 - random times, no secret
    ended = strike(engine, checkout, 15, draw)
    assert set(checkout.verdicts()) <= set(undisturbed.verdicts)
    if ended.code != 0:
        assert ended.code == 3, ended.stderr  # an infrastructure failure
        ended = checkout.run("score", "--json")
    assert (ended.code, ended.stdout) == (0, undisturbed.standings), ended.stderr
    assert checkout.verdicts() == undisturbed.verdicts
