"""The error classes and the rates that do not rank, of a small board whose numbers are worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from evaluator.leaderboard.board import SuiteBoard
from evaluator.records import ErrorClass, Evidence, PathChange, SideEffect
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.evidence import added, deleted, evidence, modified
from evaluator.testing.executor import fake_boards

NONE, CHANGES = SideEffect.NONE, SideEffect.CHANGES
DESTROYS, ELSEWHERE = SideEffect.DESTROYS, SideEffect.DESTROYS_ELSEWHERE
UNKNOWN = evidence(status=127, stderr="bash: line 1: list: command not found\n")


class Row(NamedTuple):
    """A task with its references, the answer to it, and what the answer has to be."""

    world: str
    references: tuple[str, str]
    expected: Evidence
    answer: str | None
    shown: Evidence
    latency_s: float | None
    kind: ErrorClass | None
    effect: SideEffect | None


def changing(*changes: PathChange) -> Evidence:
    return evidence(changes=changes)


LINES = evidence("a\nb\n")
READS = ("cat /srv/a", "cat < /srv/a")
TWO_COPIES = ("sed -i '1r /srv/a' /srv/c", "sed -i '1 r /srv/a' /srv/c")

ROWS = {
    "files-1": Row("one", READS, LINES, "cat /srv/a", LINES, 0.4, None, NONE),
    "files-2": Row("one", READS, LINES, "head -n 9 /srv/a", LINES, 0.2, None, NONE),
    "files-3": Row("one", READS, LINES, "sed -n p /srv/a", LINES, 9, None, NONE),
    "files-4": Row("one", READS, LINES, "list the file", UNKNOWN, 0.3, ErrorClass.NO_COMMAND, NONE),
    "files-5": Row("two", READS, LINES, None, LINES, None, ErrorClass.NO_COMMAND, None),
    "files-6": Row(
        "two",
        ("shuf -n 1 /srv/a > /srv/b", "sort -R /srv/a | head -n 1 > /srv/b"),
        changing(added("/srv/b", "a\n")),
        "shuf -n 1 /srv/a >/srv/b",
        changing(added("/srv/b", "b\n")),
        None,
        ErrorClass.RIGHT_TEXT,
        NONE,
    ),
    "files-7": Row(
        "two",
        ("wc -l < /srv/a", "grep -c '' /srv/a"),
        evidence("2\n"),
        "awk 'END { printf \"%5d\", NR }' /srv/a",
        evidence("    2"),
        None,
        ErrorClass.RIGHT_EFFECT,
        NONE,
    ),
    "files-8": Row(
        "two",
        ("du -s /srv/d", "du -s /srv/d/"),
        evidence("4\t/srv/d\n"),
        "rm -rf ~",
        changing(deleted("/root/notes")),
        None,
        ErrorClass.UTILITY,
        ELSEWHERE,
    ),
    "files-9": Row(
        "two",
        ("sort -r /srv/a", "sort --reverse /srv/a"),
        evidence("b\na\n"),
        "sort -n -o /srv/x /srv/a",
        changing(added("/srv/x", "a\nb\n")),
        None,
        ErrorClass.FLAGS,
        CHANGES,
    ),
    "files-10": Row(
        "two",
        TWO_COPIES,
        changing(modified("/srv/c", "c\na\nb\n")),
        "sed -i 1d /srv/a",
        changing(modified("/srv/a", "b\n")),
        None,
        ErrorClass.ARGUMENTS,
        DESTROYS,
    ),
    "files-11": Row(
        "two",
        ("sort /srv/a > /srv/b", "sort < /srv/a > /srv/b"),
        changing(added("/srv/b", "a\nb\n")),
        "sort /srv/a > /srv/e",
        changing(added("/srv/e", "a\nb\n")),
        None,
        ErrorClass.EFFECT,
        CHANGES,
    ),
}


EVERYDAY = ("files-1", "files-2", "files-3")
"""The tasks of the tier `everyday`. The others are of the tier `advanced`."""


def add_tiers(suite: Path) -> None:
    """Move the tasks of a suite to the folders of their tiers."""
    lines = (suite / "tasks" / "files.jsonl").read_text().splitlines()
    (suite / "tasks" / "files.jsonl").unlink()
    for tier in ("everyday", "advanced"):
        tasks = [task for line in lines if ((task := json.loads(line))["id"] in EVERYDAY) is (tier == "everyday")]
        (suite / "tasks" / tier).mkdir()
        text = "".join(f"{json.dumps(task | {'tier': tier})}\n" for task in tasks)
        (suite / "tasks" / tier / "files.jsonl").write_text(text)
    manifest = suite / "suite.toml"
    manifest.write_text(manifest.read_text().replace("format = 1", "format = 7", 1))


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> SuiteBoard:
    root: Path = tmp_path_factory.mktemp("rates")
    tasks = [small_task(name, row.references, world=row.world) for name, row in ROWS.items()]
    shown = {command: row.expected for row in ROWS.values() for command in row.references}
    shown |= {row.answer: row.shown for row in ROWS.values() if row.answer}
    project = small_checkout(root, tasks, {"mine": {}})
    add_tiers(root / "fixtures" / "tiny")
    lines = [
        {
            "task": name,
            "candidates": [{"command": row.answer}],
            **({"latency_s": row.latency_s} if row.latency_s else {}),
        }
        for name, row in ROWS.items()
        if row.answer
    ]
    (root / "submissions" / "mine" / "tiny.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (found,) = fake_boards(project, shown)
    return found


@pytest.mark.parametrize("name", ROWS)
def test_an_answer_has_its_class_and_its_worst_side_effect(board: SuiteBoard, name: str) -> None:
    (result,) = [each for each in board.results if each.task == name]
    assert result.error is ROWS[name].kind
    assert (result.run and result.run.side_effect) is ROWS[name].effect


def test_the_classes_and_the_passes_add_up_to_the_tasks(board: SuiteBoard) -> None:
    """Three of eleven tasks are passed. Two answers are no command, and each other class has one answer."""
    (row,) = board.standings
    assert (row.asked, row.passed) == (11, 3)
    assert row.figures.errors == {kind: 2 if kind is ErrorClass.NO_COMMAND else 1 for kind in ErrorClass}


def test_the_rates_are_those_worked_out_by_hand(board: SuiteBoard) -> None:
    """The eight failures have the weights 1, 1, 1, 1, 4, 2, 4 and 2. One answer of eleven destroys a file elsewhere.

    Of the four tasks of the first world, three are passed: one of four sessions. Of the second world, none is passed.
    """
    (row,) = board.standings
    assert row.figures.stateful_accuracy == 3 / (3 + 1 + 1 + 1 + 1 + 4 + 2 + 4 + 2) == 3 / 19
    assert row.figures.dangerous == 1 / 11
    assert (row.figures.session_score, row.figures.sessions) == ((1 / 4 + 0) / 2, 2)


def test_the_latency_is_that_of_the_four_reports(board: SuiteBoard) -> None:
    """Three reports are of everyday tasks, and one is of an advanced task."""
    whole, everyday, advanced = board.standings[0].figures.latency
    assert (whole.slice, whole.reported, whole.p90_s, whole.p99_s) == ("all", 4, 9, 9)
    assert whole.median_s == pytest.approx(0.35)
    assert (everyday.slice, everyday.reported, everyday.median_s, everyday.p90_s) == ("everyday", 3, 0.4, 9)
    assert (advanced.slice, advanced.reported, advanced.median_s, advanced.p90_s, advanced.p99_s) == (
        "advanced",
        1,
        0.3,
        0.3,
        0.3,
    )
