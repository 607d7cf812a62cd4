"""`bashboard suite add`, and other commands with the added suite."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.testing.checkouts import small_checkout, small_task
from tests.command_runner import CommandRunner
from tests.suites import foreign_trees as trees

COMMAND = Path(sys.executable).with_name("bashboard")


def bashboard(folder: Path, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> Result:
    """Run a command of this program in a folder, within this process."""
    with contextlib.chdir(folder):
        return CommandRunner().invoke(app, list(map(str, arguments)), env=environment)


def started(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command of this program in a folder, as a process of its own."""
    command = [str(COMMAND), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return small_checkout(tmp_path / "checkout", [small_task("files-1")], {}).root


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return trees.eabench_tree(tmp_path / "tree")


def test_adding_a_suite_tells_what_it_has_and_what_was_left_out(checkout: Path, tree: Path) -> None:
    ended = bashboard(checkout, "suite", "add", "nl2bash-eabench", tree, "--no-execute")
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
    shown = [bashboard(checkout, "suite", "add", "nl2bash-eabench", tree, "--no-execute").stdout for _ in range(2)]
    assert [text.partition(": ")[0] for text in shown] == [
        "fixtures/nl2bash-eabench",
        "fixtures/nl2bash-eabench, replaced",
    ]


def test_without_an_engine_the_suite_is_there_and_what_to_type_later_is_said(checkout: Path, tmp_path: Path) -> None:
    """Without an engine the suite is added, and the command to repeat later is printed.

    Only the publisher's variant of its tasks is used, because no execution shows that other variants hold.
    """
    tree = trees.intercode_tree(tmp_path / "intercode")
    nowhere = {"DOCKER_HOST": f"unix://{tmp_path}/nowhere.sock"}
    ended = bashboard(checkout, "suite", "add", "intercode", tree, environment=nowhere)
    assert (ended.exit_code, ended.stdout.splitlines()[:2]) == (
        3,
        ["fixtures/intercode: 4 tasks, 4 references, 1 worlds", "tasks asked: 4 in 1 variant"],
    )
    assert "no reference was executed: " in ended.stderr
    assert ended.stderr.endswith("then run: bashboard suite add intercode\n")


def test_the_same_as_json(checkout: Path, tree: Path) -> None:
    ended = started(checkout, "suite", "add", "nl2bash-eabench", tree, "--no-execute", "--json")
    shown = json.loads(ended.stdout)
    assert (shown["folder"], shown["tasks"], shown["found"]) == ("fixtures/nl2bash-eabench", 9, {})


def test_a_list_of_suites_says_whose_they_are(checkout: Path, tree: Path) -> None:
    bashboard(checkout, "suite", "add", "nl2bash-eabench", tree, "--no-execute")
    shown = json.loads(bashboard(checkout, "suite", "list", "--json").stdout)
    assert [(suite["name"], suite["foreign"]) for suite in shown] == [("nl2bash-eabench", True), ("tiny", False)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("moon",), "no external suite is named 'moon'; there are: nl2sh-alfa, intercode, nl2bash-eabench, nl2bash"),
        (("intercode",), "is imported from a clone; type: bashboard suite add intercode PATH-OF-THE-CLONE"),
        (("nl2bash", "nowhere"), "nowhere does not exist: expected the files of nl2bash"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(checkout: Path, arguments: tuple[str, ...], words: str) -> None:
    ended = bashboard(checkout, "suite", "add", *arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert words in ended.stderr


@pytest.mark.soak
@pytest.mark.engine
def test_an_audit_prints_what_does_not_hold_by_class_and_ends_well(checkout: Path, tmp_path: Path) -> None:
    """An audit prints the defects by class and ends with exit code 0. The suite's own image is built here."""
    tree = trees.nl2bash_tree(tmp_path / "pairs")
    added = started(checkout, "suite", "add", "nl2bash", tree)
    assert (added.returncode, added.stdout.splitlines()[-6:-2]) == (
        0,
        [f"references, {kind}: 0" for kind in ("fails", "is not found", "shows nothing", "needs the network")],
    )
    tasks = checkout / "fixtures" / "nl2bash" / "tasks" / "text.jsonl"
    tasks.write_text(tasks.read_text().replace("notes.txt", "never.txt"))
    ended = started(checkout, "suite", "verify", "nl2bash")
    assert ended.returncode == 0, ended.stderr
    assert "command: fails: 1\n  1, reference 1: ends with status 1 in variant plain: head: " in ended.stdout
    assert ended.stdout.endswith("notes on 2 tasks of a foreign suite: an audit, not a gate\n")
