"""The messages and the file changes of `bashboard quarantine`, in a judged checkout without an engine."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from pathlib import Path

import pytest

from evaluator.pipeline.evidence.images import fetched_images
from evaluator.pipeline.project import Project
from evaluator.store import store_in_use
from evaluator.testing.executor import fake_boards
from tests.cli.command_runs import SHOWN, Bashboard

LAZY = ("quarantine", "lazy")


def digest(project: Project) -> dict[Path, str]:
    files = (path for path in project.root.rglob("*") if path.is_file())
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def remembered(project: Project) -> int:
    with contextlib.closing(sqlite3.connect(project.store_path)) as store:
        (count,) = store.execute("SELECT count(*) FROM removed").fetchone()
    return int(count)


def rows_of(bashboard: Bashboard, *arguments: str) -> set[str]:
    found = bashboard("standings", "--json", *arguments)
    return {row["submission"] for row in json.loads(found.stdout)}


@pytest.fixture
def published(judged: Project) -> list[Path]:
    """A verdict file and a fetched evidence bundle of the submission `lazy`."""
    verdicts = judged.root / "submissions" / "lazy" / "tiny.verdicts.jsonl"
    bundle = fetched_images(judged).parent / "submissions" / "lazy" / "tiny.jsonl.gz"
    bundle.parent.mkdir(parents=True)
    for path in (verdicts, bundle):
        path.write_bytes(b"false\n")
    return [verdicts, bundle]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("quarantine", "lasy", "--yes"),
            "bashboard: no submission is named 'lasy'; did you mean lazy? … 2 more: bashboard standings\n",
        ),
        (LAZY, "bashboard: lazy was not changed: standard input is no terminal, so confirm with --yes\n"),
        ((*LAZY, "--lift"), "bashboard: 'lazy' is not in quarantine; there are none\n"),
        ((*LAZY, "--lift", "--dry-run"), "bashboard: --lift and --dry-run: expected only one of them\n"),
    ],
)
def test_a_refusal_changes_nothing(judged: Project, bashboard: Bashboard, arguments: list[str], told: str) -> None:
    before = digest(judged)
    ended = bashboard(*arguments)
    assert (ended.returncode, ended.stderr) == (2, told)
    assert digest(judged) == before


@pytest.mark.parametrize("option", ["--yes", "--dry-run"])
def test_a_store_in_use_is_left_alone(judged: Project, bashboard: Bashboard, option: str) -> None:
    before = digest(judged)
    with store_in_use(judged.store_path):
        ended = bashboard(*LAZY, option)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "uses this store; run the same command again when it has ended" in ended.stderr
    assert digest(judged) == before


@pytest.mark.parametrize("command", [("score",), ("standings",), ("evidence", "make", "--out", "made"), ("explain",)])
def test_nothing_else_uses_the_store_meanwhile(judged: Project, bashboard: Bashboard, command: tuple[str, ...]) -> None:
    arguments = ("lazy", "files-1", "--suite", "tiny") if command == ("explain",) else ()
    with store_in_use(judged.store_path, alone=True):
        ended = bashboard(*command, *arguments)
    assert ended.returncode == 2
    assert "`bashboard quarantine` uses this store; run the same command again when it has ended" in ended.stderr


def test_a_dry_run_lists_what_is_touched_and_changes_nothing(
    judged: Project, bashboard: Bashboard, published: list[Path]
) -> None:
    before = digest(judged)
    text = bashboard(*LAZY, "--dry-run").stdout
    assert text.startswith("lazy: remove 0 runs that no other submission needs\n")
    assert "of unknown origin" in text
    plan = json.loads(bashboard(*LAZY, "--dry-run", "--json").stdout)
    assert plan["files"] == [str(path) for path in published]
    assert {each["reason"] for each in plan["touched"]} == {"shared", "unknown"}
    assert {owner for each in plan["touched"] for owner in each["owners"]} == {"references", "good", "always-true"}
    assert digest(judged) == before


def test_it_is_off_every_board_before_anything_is_made_again(
    judged: Project, bashboard: Bashboard, published: list[Path]
) -> None:
    """The command removes the submission from every board before it makes any evidence again.

    Without an engine the command stops after the removal. The next call continues.
    """
    ended = bashboard(*LAZY, "--yes")
    assert ended.returncode == 3
    assert json.loads((judged.root / "submissions" / "quarantine.json").read_bytes()) == {
        "format": 1,
        "submissions": ["lazy"],
    }
    assert [path for path in published if path.exists()] == []
    assert remembered(judged)
    fake_boards(judged, SHOWN, everything=True)
    assert rows_of(bashboard) == rows_of(bashboard, "--published") | {"good", "always-true"}
    ended = bashboard(*LAZY, "--yes", "--json")
    assert (ended.returncode, remembered(judged)) == (0, 0), ended.stderr
    assert json.loads(ended.stdout)["made_again"] == 0
    assert bashboard("score", "lazy").stderr.startswith("bashboard: 'lazy' is in quarantine; to score it again, run:")


def test_lifted_it_is_on_the_board_again(judged: Project, bashboard: Bashboard) -> None:
    bashboard(*LAZY, "--yes")
    assert bashboard(*LAZY, "--lift").returncode == 0
    assert not (judged.root / "submissions" / "quarantine.json").exists()
    fake_boards(judged, SHOWN, everything=True)
    assert rows_of(bashboard) == {"good", "always-true", "lazy"}


def test_a_broken_list_is_named(judged: Project, bashboard: Bashboard) -> None:
    (judged.root / "submissions" / "quarantine.json").write_text('{"format": 1, "submissions": ["../x"]}')
    ended = bashboard("standings")
    assert ended.returncode == 1
    assert "submissions/quarantine.json" in ended.stderr
