"""The engine is ended during a run, and is started again during the run or after it."""

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
    """A running private engine with the suite's image."""
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
    """The private engine, which is started again after each test that ended it."""
    yield loaded
    loaded.ensure()


@pytest.fixture
def there(private: PrivateEngine, checkout: Checkout) -> Checkout:
    """A checkout that uses the private engine."""
    return Checkout(checkout.root, {"DOCKER_HOST": private.host})


def left(private: PrivateEngine) -> list[str]:
    """Return the names of all containers in the private engine."""
    with contextlib.closing(docker.DockerClient(private.host)) as client:
        return [container.name for container in client.containers.list(all=True)]


def disturbed(there: Checkout, private: PrivateEngine, blow: signal.Signals, after: int, away_s: float) -> RunResult:
    """Run the command, end the engine after `after` executions, and start the engine again `away_s` seconds later."""
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
    """If the engine comes back, the run continues by itself and gives the same verdicts."""
    ended = disturbed(there, private, blow, after, 2)
    assert (ended.code, ended.stdout) == (0, undisturbed.standings), ended.stderr
    assert there.verdicts() == undisturbed.verdicts
    assert left(private) == []


@pytest.mark.parametrize("blow", BLOWS.values(), ids=BLOWS)
def test_an_engine_that_stays_away_is_named_and_nothing_is_scored(
    undisturbed: Undisturbed, there: Checkout, private: PrivateEngine, blow: signal.Signals
) -> None:
    """If the engine stays away, the run waits once, not for every command, and stores no wrong verdict.

    The next run gives the same verdicts as an undisturbed run.
    """
    process = there.start("score", "--json")
    there.wait_for_evidence(process, 10)
    private.end(blow)
    began, left_over = time.monotonic(), undisturbed.executed - there.executed()
    ended = finish(process)
    assert time.monotonic() - began < left_over * sum(PAUSES_S) / 4  # minutes, even for a busy machine
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
    # a task without an answer needs no engine
    assert all('"outcome":"unanswered"' in row[-1] for row in there.verdicts())
