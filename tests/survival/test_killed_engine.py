"""The engine is killed during a run, and comes back or stays away."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from evaluator.sandbox.engine import Engine
from evaluator.sandbox.image import SuiteImage
from evaluator.sandbox.pool import PAUSES_S
from tests.survival.conftest import Undisturbed
from tests.survival.private_engine import PrivateEngine
from tests.survival.small_runs import Checkout, RunResult, finish

pytestmark = [
    pytest.mark.engine,
    pytest.mark.soak,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may start an engine to kill"),
    pytest.mark.skipif(shutil.which("dockerd") is None, reason="there is no dockerd to start an engine with"),
]


BLOWS = {"kill": signal.SIGKILL, "stop": signal.SIGTERM}


@pytest.fixture(scope="module")
def loaded(engine: Engine, image: SuiteImage) -> Iterator[PrivateEngine]:
    """Yield a running private engine with the suite's image."""
    folder = Path(tempfile.mkdtemp(prefix="bashboard-"))
    private = PrivateEngine(folder)
    try:
        private.load(engine, image.reference)
        yield private
    finally:
        private.clear()
        shutil.rmtree(folder)


@pytest.fixture
def private(loaded: PrivateEngine) -> Iterator[PrivateEngine]:
    """Return the private engine, started again if the previous test ended it."""
    yield loaded
    loaded.ensure()


@pytest.fixture
def there(private: PrivateEngine, checkout: Checkout) -> Checkout:
    """Return a checkout that uses the private engine."""
    return Checkout(checkout.root, {"DOCKER_HOST": private.host})


def left(private: PrivateEngine) -> list[str]:
    """Return the containers in the private engine, which has no others."""
    with contextlib.closing(docker.DockerClient(private.host)) as client:
        return [container.name for container in client.containers.list(all=True)]


def disturbed(there: Checkout, private: PrivateEngine, blow: signal.Signals, after: int, away_s: float) -> RunResult:
    """Run the command, end its engine after so many executions, and start it again some seconds later."""
    process = there.start("score", "--json")
    there.wait_for_evidence(process, after)
    private.end(blow)
    time.sleep(away_s)
    private.start().close()
    return finish(process)


@pytest.mark.parametrize("after", [1, 40])
@pytest.mark.parametrize("blow", BLOWS.values(), ids=BLOWS)
def test_an_engine_that_comes_back_is_waited_for(
    undisturbed: Undisturbed, there: Checkout, private: PrivateEngine, blow: signal.Signals, after: int
) -> None:
    """The run continues by itself and gives the same verdicts."""
    ended = disturbed(there, private, blow, after, 2)
    assert (ended.code, ended.stdout) == (0, undisturbed.standings), ended.stderr
    assert there.verdicts() == undisturbed.verdicts
    assert left(private) == []


@pytest.mark.parametrize("blow", BLOWS.values(), ids=BLOWS)
def test_an_engine_that_stays_away_is_named_and_nothing_is_scored(
    undisturbed: Undisturbed, there: Checkout, private: PrivateEngine, blow: signal.Signals
) -> None:
    """The run waits once, not for every command. The next run gives the same verdicts."""
    process = there.start("score", "--json")
    there.wait_for_evidence(process, 10)
    private.end(blow)
    began, left_over = time.monotonic(), undisturbed.executed - there.executed()
    ended = finish(process)
    assert time.monotonic() - began < left_over * sum(PAUSES_S) / 4  # which is minutes, however busy the machine is
    last = ended.stderr.splitlines()[-1]
    assert ended.code == 3
    assert "infra-errors, which are ours" in last
    assert "engine" in last or "could not be started" in last
    assert "Traceback" not in ended.stderr
    assert set(there.verdicts()) <= set(undisturbed.verdicts)
    private.start().close()
    again = there.run("score", "--json")
    assert (again.code, again.stdout) == (0, undisturbed.standings), again.stderr
    assert there.verdicts() == undisturbed.verdicts
    assert left(private) == []


def test_an_engine_that_is_not_there_is_one_line_more_than_where_it_was_asked(
    there: Checkout, private: PrivateEngine
) -> None:
    private.end(signal.SIGTERM)
    ended = there.run("score")
    assert (ended.code, ended.stdout) == (3, "")
    assert private.host in ended.stderr
    assert "Traceback" not in ended.stderr
    assert there.verdicts() == []
