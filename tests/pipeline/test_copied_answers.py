"""A submission whose answers are those of an earlier submission of another account names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from evaluator.leaderboard.board import SuiteBoard, index_board
from evaluator.leaderboard.leaderboard_page import render_leaderboard
from evaluator.leaderboard.submission_page import render_submission
from evaluator.pipeline.boards.copied_answers import with_copied_answers
from evaluator.records import AnswersOf
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.executor import fake_boards

TASKS = [small_task(f"files-{number:02}", references=(f"ls -l {number}", f"echo {number}")) for number in range(20)]
DAYS = {"first": date(2025, 1, 1), "copy": date(2025, 1, 2), "own": date(2025, 1, 3)}
OWN = {task.id: [f"cat {task.id}"] for task in TASKS}
FIRST = {task.id: [f"sort -u -r {task.id} | head -n 1"] for task in TASKS}
SPELLINGS = ["sort --reverse '%s' -u|head --lines=1 # x\n", "bash -c 'LC_ALL=C sort -ru %s | head -n1'"]
COPY = {task.id: [SPELLINGS[place % 2] % task.id] for place, task in enumerate(TASKS)}


def board(folder: Path, answers: Mapping[str, Mapping[str, list[str]]]) -> SuiteBoard:
    (made,) = fake_boards(small_checkout(folder, TASKS, answers), lambda call: "x\n")
    rows = (row.model_copy(update={"added": DAYS.get(row.submission)}) for row in made.standings)
    return replace(made, standings=tuple(rows))


def copies(made: SuiteBoard, owners: Mapping[str, int | None]) -> dict[str, AnswersOf | None]:
    return {row.submission: row.answers_of for row in with_copied_answers(made, owners).standings}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> SuiteBoard:
    return board(tmp_path_factory.mktemp("checkout"), {"own": OWN, "first": FIRST, "copy": COPY})


def test_the_later_submission_of_another_account_is_marked(whole: SuiteBoard) -> None:
    found = copies(whole, {"first": 1, "copy": 2, "own": 3})
    assert found == {"first": None, "own": None, "copy": AnswersOf(submission="first", share=1.0)}
    assert copies(whole, {}) == found, "a name that nobody registered has an owner of its own"


def test_an_account_may_repeat_its_own_answers(whole: SuiteBoard) -> None:
    assert set(copies(whole, {"first": 1, "copy": 1, "own": 3}).values()) == {None}


@pytest.mark.parametrize(("changed", "named"), [(1, True), (2, False), (12, False)])
def test_another_submission_is_named_above_nine_tenths(tmp_path: Path, changed: int, named: bool) -> None:
    """Of 20 answers, 19 may be equal by copying. With 18, the share is 0.9, and nothing is named."""
    copy = {task: answers if place >= changed else ["id"] for place, (task, answers) in enumerate(COPY.items())}
    found = copies(board(tmp_path, {"first": FIRST, "copy": copy}), {"first": 1, "copy": 2})["copy"]
    assert found == (AnswersOf(submission="first", share=1 - changed / 20) if named else None)


def test_a_few_answers_are_not_compared(tmp_path: Path) -> None:
    few = dict(list(FIRST.items())[:9])
    empty = {task: ["", *answers] for task, answers in FIRST.items() if task not in few}
    made = board(tmp_path, {"first": FIRST, "copy": {**few, **empty}})
    assert copies(made, {"first": 1, "copy": 2})["copy"] is None


def test_the_page_of_the_submission_names_the_other(whole: SuiteBoard) -> None:
    made = with_copied_answers(whole, {"first": 1, "copy": 2, "own": 3})
    rows = {row.submission: row for row in made.standings}
    index = index_board(made)
    page = render_submission(index, rows["copy"])
    assert "Answers of another submission</span>" in page
    assert '<a href="../first/"><bdi>' in page
    assert 'href="../../compare/?a=copy&amp;b=first"' in page
    assert "Answers of another" not in render_submission(index, rows["first"])


def test_the_row_of_the_submission_names_the_other(whole: SuiteBoard) -> None:
    made = with_copied_answers(whole, {"first": 1, "copy": 2, "own": 3})
    html = render_leaderboard(index_board(made), (), "../../", ["tiny"], "vega.js")
    assert html.count("answers of <a") == 1
