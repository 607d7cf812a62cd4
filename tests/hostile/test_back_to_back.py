"""A hostile command and then an honest one in the same container, with no look at the container between the two.

A look through the engine would make and close a local socket. Then the kernel would collect the descriptors in flight,
and the test would not see that they outlive their job.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evaluator.records import Evidence
from evaluator.sandbox.container import WorkerPlan
from evaluator.sandbox.engine import Engine
from tests.in_flight import ALL_MEMORY, HONEST, LEFT, OUTPUT
from tests.sandbox_harness import SandboxHarness, planned

pytestmark = pytest.mark.engine

QUICK = ("memory", "output", "abstract socket", "inotify", "ipc namespace")
"""The kinds of which an earlier version of the runner left something to the next job."""


@pytest.fixture(scope="module")
def pair_sandbox(engine: Engine, plan: WorkerPlan) -> Iterator[SandboxHarness]:
    harness = SandboxHarness(engine, planned(plan, cpu_s=1.0, memory_mb=192, disk_mb=32))
    yield harness
    harness.close()


@pytest.fixture(scope="module")
def honest_alone(pair_sandbox: SandboxHarness) -> dict[str, Any]:
    """Return the honest command's evidence in a container without other jobs."""
    return shown(pair_sandbox.run(HONEST))


def shown(evidence: Evidence) -> dict[str, Any]:
    """Return all evidence except durations."""
    return evidence.model_dump(mode="json", exclude={"cpu_ms", "wall_ms"})


def test_the_honest_command_ends_by_itself(honest_alone: dict[str, Any]) -> None:
    """It needs most of the memory and of the disk, and all the names that the hostile commands use."""
    assert (honest_alone["ending"], honest_alone["status"]) == ("exited", 0)
    assert honest_alone["stdout"]["data"].startswith("watched\n150000000\n1\n")


@pytest.mark.parametrize("kind", QUICK)
def test_a_descriptor_in_flight_ends_with_its_job(
    pair_sandbox: SandboxHarness, honest_alone: dict[str, Any], kind: str
) -> None:
    """The next command's evidence is the same as without the hostile command before it."""
    for _ in range(2):
        assert pair_sandbox.run(LEFT[kind]).ending.value == "exited"
        assert shown(pair_sandbox.run(HONEST)) == honest_alone


@pytest.mark.soak
@pytest.mark.parametrize("kind", LEFT)
def test_no_descriptor_in_flight_outlives_its_job(
    pair_sandbox: SandboxHarness, honest_alone: dict[str, Any], kind: str
) -> None:
    """This holds for every kind of descriptor, each ten times."""
    for _ in range(10):
        attack = pair_sandbox.run(LEFT[kind])
        assert attack.stdout.data.isdigit(), attack
        assert shown(pair_sandbox.run(HONEST)) == honest_alone


def test_the_memory_limit_ends_with_its_job(pair_sandbox: SandboxHarness, honest_alone: dict[str, Any]) -> None:
    """A command that leaves as much memory in flight as its container allows costs the next command nothing."""
    for _ in range(2):
        assert pair_sandbox.run(ALL_MEMORY).ending.value == "memory"
        assert shown(pair_sandbox.run(HONEST)) == honest_alone


def test_an_output_pipe_in_flight_is_not_waited_for(hasty_sandbox: SandboxHarness) -> None:
    """The runner stops reading when the last process has ended, whatever still holds the other end of the pipe."""
    shown_once = hasty_sandbox.show(OUTPUT)
    assert (shown_once.evidence.ending.value, shown_once.evidence.stdout.data, shown_once.by_wall) == (
        "exited",
        b"2",
        False,
    )
