"""Two pits for all attacks of a session, so that both CPUs are at work while a test looks at one outcome."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine
from tests.attacks import Attack, Hold, Pits, assert_held

WORKERS = 2


@pytest.fixture(scope="session")
def pits(engine: Engine, plan: WorkerPlan, request: pytest.FixtureRequest) -> Iterator[Pits]:
    cpus = sorted(os.sched_getaffinity(0))
    made = Pits(engine, plan, [cpus[place % len(cpus)] for place in range(WORKERS)])
    parameters = [getattr(item, "callspec", None) for item in request.session.items]
    made.announce([each.params["attack"] for each in parameters if each and "attack" in each.params])
    yield made
    made.close()


@pytest.fixture
def hold(pits: Pits) -> Hold:
    def check(attack: Attack) -> None:
        assert_held(pits, attack)

    return check
