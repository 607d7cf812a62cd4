"""The suites of the repository meet their expectations: references agree, and near misses and doing nothing fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluator.pipeline.boards.scored_boards import make_boards
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.maintenance.verify_suite import verify_suite
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.suites.expectations import Violation
from evaluator.testing.checkouts import copy_checkout
from tests.picture import PICTURE, depicted, marked

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.engine, pytest.mark.early]


@pytest.fixture(scope="session")
def core(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the checkout with a store of its own."""
    return copy_checkout(ROOT, tmp_path_factory.mktemp("core"))


every_suite = pytest.mark.parametrize("violated", ["core", "programs"], indirect=True)
core_alone = pytest.mark.parametrize("violated", ["core"], indirect=True)


@pytest.fixture(scope="session")
def violated(core: Project, request: pytest.FixtureRequest) -> list[Violation]:
    """The expectations that one verification of a suite found violated."""
    return verify_suite(core, core.suite(request.param), NullProgress())


@every_suite
@pytest.mark.parametrize("kind", ["reference", "near miss", "doing nothing", "volatility", "CPU time", "alignment"])
def test_what_must_hold_of_every_task_does(violated: list[Violation], kind: str) -> None:
    assert [each.to_json() for each in violated if each.role.startswith(kind)] == []


@every_suite
def test_nothing_else_is_found(violated: list[Violation]) -> None:
    assert violated == []


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


@core_alone
def test_what_was_verified_is_scored_without_executing_anything(core: Project, violated: list[Violation]) -> None:
    """After a verification, second references pass every task and doing nothing passes none, without executions."""
    (board,) = make_boards(
        core, NullProgress(), submissions=["second-reference", "always-true"], execute=False, fresh=False
    )
    passed = {row.submission: (row.passed, row.asked) for row in board.standings}
    asked = len(core.suite("core").tasks)
    assert passed == {"second-reference": (asked, asked), "always-true": (0, asked)}


@core_alone
def test_most_near_misses_ran_in_one_variant_alone(core: Project, violated: list[Violation]) -> None:
    """A near miss that fails in the richest variant needs no other one. At least three of four near misses do."""
    suite = core.suite("core")
    items = [GradingItem(task.id, command) for task in suite.tasks for command in task.near_misses]
    with open_grader(core, suite, NullProgress(), execute=False) as grader:
        complete = grader.load_cached(items)
    assert 0 < len(complete) < len(items) / 4


@pytest.mark.soak
@core_alone
def test_the_picture_shows_the_board_as_it_is(core: Project, violated: list[Violation]) -> None:
    """README's picture shows the current standings in the current style. `make picture` makes the picture again."""
    (board,) = make_boards(core, NullProgress())
    rows = [row.model_dump(mode="json") for row in board.standings]
    assert marked(PICTURE.read_bytes()) == depicted(rows)
