"""The evaluator is killed at random times and stages, and the next run continues."""

from __future__ import annotations

import contextlib
import itertools
import random
import subprocess
from pathlib import Path

import pytest

from evaluator.sandbox.engine import Engine
from tests.progress_reports import reported_executions
from tests.survival.conftest import Undisturbed
from tests.survival.small_runs import Checkout, workers_of

pytestmark = pytest.mark.engine

SEED = 89


def kill_once(checkout: Checkout, after_s: float) -> int | None:
    """Return the process id of a run that was killed after this time, or None if the run ended before."""
    process = checkout.start("score", "--json")
    with contextlib.suppress(subprocess.TimeoutExpired):
        ended = process.wait(after_s)
        process.communicate()
        assert ended == 0
        return None
    process.kill()
    process.communicate()
    return process.pid


def assert_undisturbed(undisturbed: Undisturbed, checkout: Checkout, engine: Engine, pids: list[int]) -> None:
    before = checkout.executed()
    ended = checkout.run("score", "--json")
    assert (ended.code, ended.stdout) == (0, undisturbed.standings), ended.stderr
    assert reported_executions(ended.stderr) == checkout.executed() - before
    assert checkout.verdicts() == undisturbed.verdicts
    assert checkout.files() == undisturbed.files
    assert [workers_of(engine, pid) for pid in pids] == [[]] * len(pids)


def survive(undisturbed: Undisturbed, engine: Engine, folder: Path, kills: int) -> None:
    """Kill `kills` runs at random times, and check that the next run in each checkout gives the usual results.

    If a run ends by itself, the next run uses another checkout.
    """
    draw = random.Random(SEED)  # noqa: S311 - random times, no secret
    pids: list[int] = []
    for number in itertools.count():
        if len(pids) >= kills:
            break
        checkout = undisturbed.checkout.copied(folder / str(number))
        here: list[int] = []
        while len(pids) + len(here) < kills:
            pid = kill_once(checkout, draw.uniform(0.0, undisturbed.seconds))
            if pid is None:
                break
            here.append(pid)
        assert_undisturbed(undisturbed, checkout, engine, here)
        pids += here


def test_killed_a_few_times_it_comes_to_the_same(undisturbed: Undisturbed, engine: Engine, tmp_path: Path) -> None:
    survive(undisturbed, engine, tmp_path, 3)


@pytest.mark.soak
def test_killed_twenty_times_it_comes_to_the_same(undisturbed: Undisturbed, engine: Engine, tmp_path: Path) -> None:
    survive(undisturbed, engine, tmp_path, 20)


def test_a_run_killed_when_all_was_executed_leaves_no_worker_to_the_next(
    undisturbed: Undisturbed, checkout: Checkout, engine: Engine
) -> None:
    """If a run is killed after its last execution, the next run removes its workers.

    The next run executes nothing, and contacts the engine only because of the killed run's note.
    """
    process = checkout.start("score", "--json")
    checkout.wait_for_evidence(process, undisturbed.executed)
    process.kill()
    process.communicate()
    assert_undisturbed(undisturbed, checkout, engine, [process.pid])
