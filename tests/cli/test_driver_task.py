"""A task with a driver and a verifier: what people and models see of it, without the execution of a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluator.leaderboard.board import SuiteBoard, index_board
from evaluator.leaderboard.task_page import render_task
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.create import suite_prompts
from evaluator.testing.checkouts import small_checkout, small_task
from evaluator.testing.evidence import evidence
from evaluator.testing.executor import fake_boards
from tests.cli.command_runs import run_here

MESSAGE = b"found \x1b[2J<img src=x>\n\xff\xe2\x80\xae"
SCRIPT = small_task(
    "files-1", references=("a", "a2"), verify="[ -e /tmp/<b> ]", driver="/srv/run 1; . /srv/run 2", answer="/srv/run"
)


@pytest.fixture
def board(tmp_path: Path) -> tuple[Project, SuiteBoard]:
    answers = {"files-1": ["c"], "files-2": ["b"]}
    project = small_checkout(tmp_path, [SCRIPT, small_task("files-2", references=("b", "b2"))], {"mine": answers})
    refused = evidence("", verifier=1).model_copy(update={"verifier_message": MESSAGE})
    accepted = evidence("", verifier=0)
    (shown,) = fake_boards(project, {"a": accepted, "a2": accepted, "c": refused, "b": "3", "b2": "3"})
    return project, shown


def test_an_explanation_shows_the_verifiers_status_and_message(board: tuple[Project, SuiteBoard]) -> None:
    shown = run_here(board[0].root, "explain", "mine", "files-1", "--suite", "tiny").stdout
    assert "because the task's verifier rejects the result: 'found" in " ".join(shown.split())
    rows = [line for line in shown.splitlines() if "status 1" in line or "<img src=x>" in line]
    assert any("verifier" in row and "status 0" in row for row in rows)
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown


def test_a_task_names_its_answer_and_its_driver(board: tuple[Project, SuiteBoard]) -> None:
    shown = run_here(board[0].root, "suite", "show", "tiny", "files-1").stdout
    assert "the script /srv/run" in shown
    assert "/srv/run 1; . /srv/run 2" in shown


def test_a_tasks_page_shows_the_driver_and_the_message_as_text(board: tuple[Project, SuiteBoard]) -> None:
    other = board[1].tasks[1]
    attempts = index_board(board[1]).attempts([SCRIPT.id, other.id])
    page = render_task(board[1], SCRIPT, attempts[SCRIPT.id])
    assert "The answer is" in page
    assert "/srv/run 1; . /srv/run 2" in page
    assert "rejects the result: " in page
    assert "&lt;img src=x&gt;" in page
    assert "<img" not in page
    assert "Driven by" not in render_task(board[1], other, attempts[other.id])


def test_a_prompt_says_that_the_answer_is_a_script(board: tuple[Project, SuiteBoard]) -> None:
    """A prompt names the path of the script, but not the driver, which shows how the answer is tested."""
    first, second = (json.loads(line)["messages"][0]["content"] for line in suite_prompts(board[0], "tiny"))
    assert "The script is saved as /srv/run" in first
    assert "several times, with arguments" in first
    assert ". /srv/run 2" not in first
    assert "into one Bash command" in second
