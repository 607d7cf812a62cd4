"""A board with two submissions: one answers every task with a reference, and one leaves memory in flight."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evaluator.sandbox.image import SuiteImage
from evaluator.suites.load import Suite
from evaluator.testing.checkouts import copy_checkout, write_submission
from tests.in_flight import ALL_MEMORY, LEFT
from tests.survival.small_runs import ROOT, Checkout, finish

pytestmark = [pytest.mark.engine, pytest.mark.soak]

RUNS = 10
TIMEOUT_S = 1800
ATTACKS = [ALL_MEMORY, *LEFT.values()][:12]
"""The commands of the hostile submission. The first leaves as much memory as a container has."""


@pytest.mark.parametrize("run", range(RUNS))
def test_an_honest_submission_passes_every_task_beside_a_hostile_one(
    tmp_path: Path, image: SuiteImage, core: Suite, run: int
) -> None:
    """The hostile commands are at other tasks in each run, and nothing is in the store before."""
    copy_checkout(ROOT, tmp_path)
    for folder in (tmp_path / "submissions").iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    version = core.manifest.version
    honest = {task.id: [task.references[0].decode()] for task in core.tasks}
    names = [core.tasks[(run * 5 + number * 13) % len(core.tasks)].id for number in range(len(ATTACKS))]
    evil = {name: [ALL_MEMORY if run % 2 else attack] for name, attack in zip(names, ATTACKS, strict=True)}
    write_submission(tmp_path, "honest", honest, suite="core", version=version)
    write_submission(tmp_path, "evil", evil, suite="core", version=version)
    result = finish(Checkout(tmp_path).start("score", "--json"), TIMEOUT_S)
    assert result.code == 0, result.stderr
    rows = {row["submission"]: row for row in json.loads(result.stdout)}
    assert rows["honest"]["passed"] == len(core.tasks), rows["honest"]
    answered = len(core.tasks) - rows["evil"]["unanswered"]
    assert (answered, rows["evil"]["passed"], rows["evil"]["infra_errors"]) == (len(ATTACKS), 0, 0), rows["evil"]
