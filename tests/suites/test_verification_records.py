"""`suite verify --write` and `--due` in real containers, on a small suite."""

from __future__ import annotations

import contextlib
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.pipeline.project import Project
from evaluator.store import Store
from evaluator.testing.checkouts import small_task, write_suite
from tests.command_runner import CommandRunner
from tests.own_suites import packages_of_core

pytestmark = pytest.mark.engine

BUILD = b'mkdir -p /srv; cd /srv; echo 1 > a; if [ "$VARIANT" = two ]; then echo 2 > "b c"; echo 3 > .d; fi\n'
COUNT: dict[str, Any] = {
    "references": ("ls -A | wc -l", "find . -mindepth 1 | wc -l"),
    "near_misses": (b"ls | wc -l", b"echo 1"),
}
READ: dict[str, Any] = {"references": ("cat a", "echo 1"), "near_misses": (b"cat *",)}
ALONE: dict[str, Any] = {"references": ("cat a", "cat < a"), "near_misses": (b"echo 2",)}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A checkout without records: two tasks in a world whose second variant tells most, and one in another world."""
    root = tmp_path_factory.mktemp("records")
    tasks = [
        small_task("files-1", world="den", **COUNT),
        small_task("files-2", world="den", **READ),
        small_task("files-3", world="pit", **ALONE),
    ]
    folder = write_suite(root, tasks, build=BUILD, packages=packages_of_core())
    manifest = folder / "suite.toml"
    manifest.write_text(manifest.read_text().replace("format = 1", "format = 8"))
    return Project(root)


def verify(project: Project, *arguments: str) -> Result:
    with contextlib.chdir(project.root):
        return CommandRunner().invoke(app, ["suite", "verify", "tiny", "--workers", "1", *arguments])


def fixture(project: Project, name: str) -> Path:
    return project.fixtures / "tiny" / name


def executions(project: Project) -> int:
    with contextlib.closing(Store(project.store_path)) as store:
        return len(store.runs())


def tasks_of(project: Project) -> dict[str, object]:
    lines = fixture(project, "tasks/files.jsonl").read_text().splitlines()
    return {task["id"]: task.get("wall_s") for task in map(json.loads, lines)}


def test_one_verified_task_gets_a_record_and_a_limit(project: Project) -> None:
    """No world gets an order, because other tasks of the world were not verified."""
    world = fixture(project, "worlds/den/world.toml").read_bytes()
    result = verify(project, "--task", "files-1", "--write")
    assert result.output.splitlines()[-3:] == [
        "fixtures/tiny/tasks/files.jsonl: files-1: wall_s: none to 10",
        "fixtures/tiny/verified.jsonl: 1 record",
        "1 tasks hold",
    ]
    assert tasks_of(project) == {"files-1": 10, "files-2": None, "files-3": None}
    assert fixture(project, "worlds/den/world.toml").read_bytes() == world


def test_due_tasks_alone_are_executed(project: Project) -> None:
    before = executions(project)
    result = verify(project, "--due", "--write")
    assert "due because it has no current record: files-2, files-3\n2 of 3 tasks are due\n" in result.output
    assert result.exit_code == 0
    assert tasks_of(project) == {"files-1": 10, "files-2": 10, "files-3": 10}
    made = executions(project) - before
    assert made > 0
    assert verify(project, "--due").output == "0 of 3 tasks are due\n0 tasks hold\n"
    assert executions(project) - before == made


def test_a_whole_verification_puts_the_telling_variant_first(project: Project) -> None:
    """In the first variant of `den`, only the commands that do nothing fail. In `pit`, both variants tell the same."""
    result = verify(project, "--write")
    den = "order of variants by the wrong commands that fail: two 7, one 4"
    assert f"fixtures/tiny/worlds/den/world.toml: den: {den}\n" in result.output
    assert "raise it in suite.toml" in result.output
    orders = {name: tomllib.loads(fixture(project, f"worlds/{name}/world.toml").read_text()) for name in ("den", "pit")}
    assert {name: world["order"] for name, world in orders.items()} == {"den": ["two", "one"], "pit": ["one", "two"]}
    before = {path: path.read_bytes() for path in project.fixtures.rglob("*") if path.is_file()}
    assert verify(project, "--write").output.splitlines()[-2:] == [
        "fixtures/tiny/verified.jsonl: 3 records",
        "3 tasks hold",
    ]
    assert {path: path.read_bytes() for path in before} == before
    assert verify(project, "--due").output == "0 of 3 tasks are due\n0 tasks hold\n"


def test_a_task_that_does_not_hold_is_due_and_loses_its_record(project: Project) -> None:
    path = fixture(project, "tasks/files.jsonl")
    path.write_text(path.read_text().replace('"echo 2"', '"cat ./a"'))
    result = verify(project, "--due", "--every", "1", "--write")
    assert result.exit_code == 1
    assert (
        "due because its task changed: files-3\n1 of 3 tasks are due; 2 others are verified with them" in result.output
    )
    assert "files-3: near miss 1: must fail, but passes: no variant tells it from a reference\n" in result.output
    assert "fixtures/tiny/verified.jsonl: 2 records\n" in result.output
    assert "1 of 3 tasks are due" in verify(project, "--due").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--every", "3"], "--every and --since: expected --due too"),
        (["--since", "HEAD"], "--every and --since: expected --due too"),
        (["--due", "--task", "files-1"], "--due selects the tasks: expected --due or --task"),
        (["--write", "--braces"], "--write and --due: expected a suite of this project, without --braces or a seed"),
        (["--due", "--seed", "x"], "--write and --due: expected a suite of this project, without --braces or a seed"),
    ],
)
def test_options_that_contradict_each_other_are_refused(project: Project, arguments: list[str], message: str) -> None:
    result = verify(project, *arguments)
    assert (result.exit_code, result.output) == (2, f"bashboard: {message}\n")


def test_a_suite_of_an_earlier_format_is_refused_before_anything_is_executed(tmp_path: Path) -> None:
    write_suite(tmp_path, [small_task("files-1")])
    result = verify(Project(tmp_path), "--write")
    assert result.exit_code == 2
    assert "suite.toml: format: expected 8 or higher, which has wall_s of a task, found 1" in result.output
    assert not Project(tmp_path).store_path.exists()
