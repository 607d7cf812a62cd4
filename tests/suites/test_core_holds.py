"""The suites of this repository meet their expectations: references agree, near misses and doing nothing fail.

Tasks without a current record are executed, and every twentieth other one. With BASHBOARD_VERIFY_SINCE, a record counts
only if that commit has it too. The long tests execute everything, and compare what they measure with the records.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import pytest

from evaluator.pipeline.boards.scored_boards import make_boards
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.maintenance.verified_tasks import records_path, select_due
from evaluator.pipeline.maintenance.verify_suite import verify_suite
from evaluator.pipeline.maintenance.write_verification import write_verification
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.suites.expectations import Violation
from evaluator.testing.checkouts import copy_checkout
from tests.own_suites import ROOT, own_suites
from tests.picture import PICTURE, depicted, marked

EVERY: Final = 20
SINCE: Final = os.environ.get("BASHBOARD_VERIFY_SINCE") or None
SUITES: Final = [suite.manifest.name for suite in own_suites()]

pytestmark = [pytest.mark.engine, pytest.mark.early]

of_each_suite = pytest.mark.parametrize("name", SUITES)


@pytest.fixture(scope="session")
def part(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the checkout with the tasks to verify, and a store of its own."""
    project = Project(ROOT)
    selections = [select_due(project, suite, every=EVERY, since=SINCE) for suite in own_suites()]
    tasks = {name for selection in selections for name in (*selection.due, *selection.sampled)}
    return copy_checkout(ROOT, tmp_path_factory.mktemp("part"), keep=lambda task: task["id"] in tasks)


@pytest.fixture(scope="session")
def violated(part: Project) -> dict[str, list[Violation]]:
    """The expectations that one verification of these tasks found violated, by suite."""
    return {name: verify_suite(part, part.suite(name), NullProgress()) for name in SUITES}


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the checkout with a store of its own."""
    return copy_checkout(ROOT, tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="session")
def all_violated(whole: Project) -> dict[str, list[Violation]]:
    """The expectations that one verification of all tasks found violated, by suite."""
    return {name: verify_suite(whole, whole.suite(name), NullProgress()) for name in SUITES}


@of_each_suite
@pytest.mark.parametrize("kind", ["reference", "near miss", "doing nothing", "volatility", "CPU time", "alignment"])
def test_what_must_hold_of_every_task_does(violated: dict[str, list[Violation]], name: str, kind: str) -> None:
    assert [each.to_json() for each in violated[name] if each.role.startswith(kind)] == []


@of_each_suite
def test_nothing_else_is_found(violated: dict[str, list[Violation]], name: str) -> None:
    assert violated[name] == []


def test_a_reference_above_half_of_the_cpu_limit_is_a_violation(tmp_path: Path) -> None:
    """The reference works until the kernel has counted 0.4 s of CPU time for it. The limit is 0.6 s."""
    slow = copy_checkout(ROOT, tmp_path, keep=lambda task: task["id"] == "files-003")
    manifest = slow.fixtures / "core" / "suite.toml"
    manifest.write_text(manifest.read_text().replace("cpu_s = 3.0", "cpu_s = 0.6"))
    (path,) = slow.fixtures.glob("core/tasks/*/files.jsonl")
    task = json.loads(path.read_text())
    work = "while read -ra stat < /proc/self/stat && ((stat[13] + stat[14] < 40)); do :; done; "
    path.write_text(json.dumps(task | {"references": [work + task["references"][0], *task["references"][1:]]}))
    found = verify_suite(slow, slow.suite("core"), NullProgress(), workers=1)
    assert {(each.role, each.variant) for each in found} == {
        ("CPU time", variant) for variant in slow.suite("core").variants(slow.suite("core").task("files-003"))
    }


@pytest.mark.usefixtures("violated")
def test_what_was_verified_is_scored_without_executing_anything(part: Project) -> None:
    """After a verification, second references pass every task and doing nothing passes none, without executions."""
    (board,) = make_boards(
        part,
        NullProgress(),
        suites=["core"],
        submissions=["second-reference", "always-true"],
        execute=False,
        fresh=False,
    )
    passed = {row.submission: (row.passed, row.asked) for row in board.standings}
    asked = len(part.suite("core").tasks)
    assert passed == {"second-reference": (asked, asked), "always-true": (0, asked)}


def share_run_everywhere(project: Project, name: str) -> float:
    """Return the share of the near misses of a suite that were executed in every variant."""
    suite = project.suite(name)
    items = [GradingItem(task.id, command) for task in suite.tasks for command in task.near_misses]
    with open_grader(project, suite, NullProgress(), execute=False) as grader:
        runs = [{(key, 0) for key in grader.keys.plan_item(item).candidate_keys} for item in items]
        known = grader.store.known_runs({key for each in runs for key, _ in each})
    return sum(each <= known for each in runs) / len(items)


@of_each_suite
@pytest.mark.usefixtures("violated")
def test_most_of_these_near_misses_ran_in_one_variant_alone(part: Project, name: str) -> None:
    """A near miss that fails in the richest variant needs no other one. A part of a suite may hold the exceptions."""
    assert share_run_everywhere(part, name) < 1 / 2


@pytest.mark.soak
@of_each_suite
def test_every_task_holds_and_is_measured_as_recorded(
    whole: Project, all_violated: dict[str, list[Violation]], name: str
) -> None:
    """Where all tasks of a world have a current record, its order of variants is compared too."""
    assert all_violated[name] == []
    suite, path = whole.suite(name), records_path(whole.suite(name))
    due = select_due(whole, suite).due
    measured = {task.id for task in suite.tasks if task.id not in due}
    measured |= suite.worlds.keys() - {task.world for task in suite.tasks if task.id in due}
    before = path.read_text().splitlines() if path.exists() else []
    written = write_verification(whole, suite, NullProgress(), [task.id for task in suite.tasks], [])
    assert [change for change in written.changes if change.subject in measured] == []
    assert due or path.read_text().splitlines() == before


@pytest.mark.soak
@pytest.mark.usefixtures("all_violated")
def test_most_near_misses_ran_in_one_variant_alone(whole: Project) -> None:
    """At least three of four near misses fail in the richest variant."""
    assert 0 < share_run_everywhere(whole, "core") < 1 / 4


@pytest.mark.soak
@pytest.mark.usefixtures("all_violated")
def test_the_picture_shows_the_board_as_it_is(whole: Project) -> None:
    """README's picture shows the current standings in the current style. `make picture` makes the picture again."""
    (board,) = make_boards(whole, NullProgress(), suites=["core"])
    rows = [row.model_dump(mode="json") for row in board.standings]
    assert marked(PICTURE.read_bytes()) == depicted(rows)
