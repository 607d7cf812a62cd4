"""Containers that do not start: the error names the cause, and the start is tried again with growing pauses."""

from __future__ import annotations

import io
import secrets
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest

from evaluator.errors import EngineError, InfraError, SandboxError
from evaluator.records import Evidence
from evaluator.sandbox.container import ContainerWorker, WorkerPlan
from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image import SuiteImage
from evaluator.sandbox.leftovers import WORKER_GROUP_LABEL
from evaluator.sandbox.pool import PAUSES_S, Pool
from evaluator.sandbox.requests import ExecutionResult, Request
from tests.sandbox_harness import TINY

pytestmark = pytest.mark.engine

REPOSITORY = "bashboard-test"


class Outcome(NamedTuple):
    """The results of some requests in order, and the pauses between attempts."""

    answers: list[ExecutionResult]
    pauses: list[float]


def execute(engine: Engine, plan: WorkerPlan, *commands: str) -> Outcome:
    """Execute commands on one worker of this plan."""
    requests = [Request.of(TINY, command.encode()) for command in commands]
    pauses: list[float] = []
    with Pool(lambda _: ContainerWorker(engine, plan), 1, 1.0, pauses.append) as pool:
        answers = [answer for _, answer in pool.execute(requests)]
    return Outcome(answers, pauses)


@pytest.fixture
def grouped(plan: WorkerPlan) -> WorkerPlan:
    """A plan of workers in a group of their own."""
    return replace(plan, worker_group=secrets.token_hex(8))


def containers(engine: Engine, plan: WorkerPlan) -> list[str]:
    matches = engine.client.containers.list(
        all=True, filters={"label": f"{WORKER_GROUP_LABEL}={plan.worker_group}"}, ignore_removed=True
    )
    return [container.name for container in matches]


@pytest.fixture
def empty_image(engine: Engine, image: SuiteImage) -> Iterator[SuiteImage]:
    """An image without files."""
    packed = io.BytesIO()
    tarfile.open(fileobj=packed, mode="w").close()
    tag = secrets.token_hex(4)
    engine.client.api.import_image_from_data(packed.getvalue(), repository=REPOSITORY, tag=tag)
    yield replace(image, reference=f"{REPOSITORY}:{tag}")
    engine.client.images.remove(f"{REPOSITORY}:{tag}", force=True)


def test_an_image_that_is_gone_is_named(engine: Engine, grouped: WorkerPlan) -> None:
    plan = replace(grouped, image=replace(grouped.image, reference="bashboard-test:gone"))
    (answer,), pauses = execute(engine, plan, "true")
    assert isinstance(answer, EngineError)
    assert "could not be started: 404" in str(answer)
    assert "bashboard-test:gone" in str(answer)
    assert pauses == list(PAUSES_S)


def test_an_option_that_the_engine_refuses_is_named(engine: Engine, grouped: WorkerPlan) -> None:
    (answer,), pauses = execute(engine, replace(grouped, cpu=4095), "true")
    assert isinstance(answer, EngineError)
    assert "CPU" in str(answer)
    assert pauses == list(PAUSES_S)
    assert containers(engine, grouped) == []


def test_a_container_without_a_runner_is_named_and_charged_to_nobody(
    engine: Engine, grouped: WorkerPlan, empty_image: SuiteImage
) -> None:
    """The error for a container without a runner names the cause.

    The container ends before it receives a command, so no command is charged.
    """
    (answer,), pauses = execute(engine, replace(grouped, image=empty_image), "true")
    assert isinstance(answer, SandboxError | EngineError)
    assert "start" in str(answer)
    assert "python3" in str(answer)
    assert pauses == list(PAUSES_S)
    assert containers(engine, grouped) == []


def test_what_is_in_vain_is_waited_for_once(engine: Engine, grouped: WorkerPlan) -> None:
    """If no container starts, the pauses are made once for all commands.

    With pauses for each command, a thousand commands without an image would take four hours to fail.
    """
    plan = replace(grouped, image=replace(grouped.image, reference="bashboard-test:gone"))
    answers, pauses = execute(engine, plan, *[f"echo {number}" for number in range(50)])
    assert len(answers) == 50
    assert all(isinstance(answer, InfraError) for answer in answers)
    assert pauses == list(PAUSES_S)


def test_an_image_removed_between_is_missed_by_the_next_container_alone(engine: Engine, grouped: WorkerPlan) -> None:
    """A running container continues after its image is removed. New workers start again after the image is back."""
    image = engine.client.images.get(grouped.image.reference)
    tag = secrets.token_hex(4)
    assert image.tag(REPOSITORY, tag)
    plan = replace(grouped, image=replace(grouped.image, reference=f"{REPOSITORY}:{tag}"))
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            image.tag(REPOSITORY, tag)

    with Pool(lambda _: ContainerWorker(engine, plan), 1, 1.0, pause) as pool:
        ((_, before),) = pool.execute([Request.of(TINY, b"echo before")])
        engine.client.images.remove(f"{REPOSITORY}:{tag}")
        ((_, still),) = pool.execute([Request.of(TINY, b"echo still")])
        assert pauses == []
        for name in containers(engine, plan):
            engine.client.containers.get(name).kill()
        ((_, after),) = pool.execute([Request.of(TINY, b"echo after")])
    engine.client.images.remove(f"{REPOSITORY}:{tag}")
    shown = [answer.stdout.data for answer in (before, still, after) if isinstance(answer, Evidence)]
    assert (shown, pauses) == ([b"before\n", b"still\n", b"after\n"], list(PAUSES_S[:3]))
