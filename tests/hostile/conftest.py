"""Two workers for all attacks of a session, so that both CPUs work while a test checks one outcome."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine
from tests.attacks import Attack, AttackWorkers, Hold, assert_held

WORKERS = 2


@pytest.fixture(scope="session")
def attack_workers(engine: Engine, plan: WorkerPlan, request: pytest.FixtureRequest) -> Iterator[AttackWorkers]:
    cpus = sorted(os.sched_getaffinity(0))
    workers = AttackWorkers(engine, plan, [cpus[index % len(cpus)] for index in range(WORKERS)])
    parameters = [callspec.params for item in request.session.items if (callspec := getattr(item, "callspec", None))]
    attacks = [values["attack"] for values in parameters if isinstance(values.get("attack"), Attack)]
    workers.schedule(attacks)
    yield workers
    workers.close()


@pytest.fixture
def hold(attack_workers: AttackWorkers) -> Hold:
    def check(attack: Attack) -> None:
        assert_held(attack_workers, attack)

    return check
