"""`bashboard suite add`, and other commands with the added suite."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.pipeline.project import Project
from evaluator.suites.declarations import declaration_path
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.declared_suites import declare_suite
from tests.command_runner import CommandRunner
from tests.suites import foreign_trees as trees

COMMAND = Path(sys.executable).with_name("bashboard")


def bashboard(folder: Path, *arguments: str | Path) -> Result:
    """Run a command of this program in a folder, within this process."""
    with contextlib.chdir(folder):
        return CommandRunner().invoke(app, list(map(str, arguments)))


def started(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command of this program in a folder, as a process of its own."""
    command = [str(COMMAND), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return small_checkout(tmp_path / "checkout", [small_task("files-1")], {}).root


@pytest.fixture
def tree(checkout: Path, tmp_path: Path) -> Path:
    """A copy of a declared suite, which `suite add` reads."""
    folder = trees.eabench_tree(tmp_path / "tree")
    declare_suite(Project(checkout), "nl2bash-eabench", folder)
    return folder


def test_adding_a_suite_tells_what_it_has_and_what_was_left_out(checkout: Path, tree: Path) -> None:
    ended = bashboard(checkout, "suite", "add", "nl2bash-eabench", "--source", tree)
    assert (ended.exit_code, ended.stdout.splitlines()) == (
        0,
        [
            "fixtures/nl2bash-eabench: 9 tasks, 9 references, 2 worlds",
            "left out, no passing answer: 1",
            "left out, needs options of the container's engine: 1",
            "tasks asked: 9 in 1 variant",
            "audit it with: bashboard suite verify nl2bash-eabench",
        ],
    )


def test_a_suite_that_is_added_again_is_made_anew(checkout: Path, tree: Path) -> None:
    shown = [bashboard(checkout, "suite", "add", "nl2bash-eabench", "--source", tree).stdout for _ in range(2)]
    assert [text.partition(": ")[0] for text in shown] == [
        "fixtures/nl2bash-eabench",
        "fixtures/nl2bash-eabench, replaced",
    ]


def test_the_same_as_json(checkout: Path, tree: Path) -> None:
    ended = started(checkout, "suite", "add", "nl2bash-eabench", "--source", tree, "--json")
    shown = json.loads(ended.stdout)
    assert (shown["folder"], shown["tasks"], shown["version"]) == ("fixtures/nl2bash-eabench", 9, "1.0.0")


def test_a_list_of_suites_says_whose_they_are_and_which_are_fetched(checkout: Path, tree: Path) -> None:
    lists = []
    for _ in range(2):
        shown = json.loads(bashboard(checkout, "suite", "list", "--json").stdout)
        lists.append([(each["name"], each["foreign"], each["fetched"], each["tasks"]) for each in shown])
        bashboard(checkout, "suite", "add", "nl2bash-eabench", "--source", tree)
    assert lists == [
        [("nl2bash-eabench", True, False, 9), ("tiny", False, True, 1)],
        [("nl2bash-eabench", True, True, 9), ("tiny", False, True, 1)],
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("moon",), "no external suite is named 'moon'; the only one is nl2bash-eabench"),
        ((), "expected the name of a suite, or --declared, or --answered"),
        (("nl2bash-eabench", "--declared"), "expected the name of a suite, or --declared, or --answered"),
        (("--declared", "--source", "x"), "only a name goes with --source"),
        (("nl2bash-eabench", "--source", "nowhere"), "nowhere does not exist: expected a clone, a folder, a wheel"),
    ],
)
@pytest.mark.usefixtures("tree")
def test_wrong_use_is_one_line_and_exit_code_2(checkout: Path, arguments: tuple[str, ...], words: str) -> None:
    ended = bashboard(checkout, "suite", "add", *arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert words in ended.stderr


@pytest.mark.soak
@pytest.mark.engine
def test_the_index_leaves_out_what_fails_and_an_audit_prints_what_does_not_hold(checkout: Path, tmp_path: Path) -> None:
    """The suite's own image is built here. One reference fails, so its task leaves the suite with a reason.

    Then a file of the suite is changed. The audit prints the defect by class and ends with exit code 0.
    """
    tree = trees.nl2bash_tree(tmp_path / "pairs")
    for name, line in (("all.nl", "List by the moon"), ("all.cm", "ls --sort=moon")):
        (tree / name).write_text(f"{(tree / name).read_text()}{line}\n")
    declare_suite(Project(checkout), "nl2bash", tree)
    path = declaration_path(checkout / "fixtures", "nl2bash")
    path.write_text(f"sound_references = true\n{path.read_text()}")
    made = started(checkout, "suite", "index", "nl2bash", "--source", tree)
    number = len((tree / "all.nl").read_text().splitlines())
    assert (made.returncode, made.stdout.splitlines()[0]) == (
        0,
        "fixtures/external/nl2bash.tasks.jsonl: 2 tasks, from 2 files",
    ), made.stderr
    assert "left out, a reference fails: 1\n" in made.stdout
    assert f"references, fails: 1 ({number}/1)\nreferences, is not found: 0\n" in made.stdout
    assert Project(checkout).is_fetched("nl2bash")
    added = started(checkout, "suite", "add", "nl2bash", "--source", tree)
    assert added.stdout.startswith("fixtures/nl2bash, replaced: 2 tasks, 2 references"), added.stderr
    tasks = checkout / "fixtures" / "nl2bash" / "tasks" / "text.jsonl"
    tasks.write_text(tasks.read_text().replace("notes.txt", "never.txt"))
    ended = started(checkout, "suite", "verify", "nl2bash")
    assert ended.returncode == 0, ended.stderr
    assert "command: fails: 1\n  1, reference 1: ends with status 1 in variant plain: head: " in ended.stdout
    assert ended.stdout.endswith("notes on 2 tasks of a foreign suite: an audit, not a gate\n")
