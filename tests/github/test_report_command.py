"""`bashboard report`, run by a job and by hand."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.github.comment.state import LABELS
from tests.command_runner import CommandRunner
from tests.doubles.github import Pull
from tests.github.github_harness import REPORT
from tests.github.report_harness import ReportHarness, previewed


def run(board: ReportHarness, *arguments: str, **environ: str) -> Result:
    """Run the command in the checkout, with the environment of a job."""
    given = {
        "GITHUB_REPOSITORY": board.harness.board.full_name,
        "GITHUB_TOKEN": board.github.token(REPORT),
        "GITHUB_API_URL": board.github.url,
        "GITHUB_SERVER_URL": "https://github.example/",
        **dict.fromkeys(("GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"), ""),
        **environ,
    }
    with contextlib.chdir(board.project.root):
        return CommandRunner().invoke(app, ["report", *arguments], env=given)


@pytest.fixture
def pull(board: ReportHarness) -> Pull:
    return board.offer(board.submission())


@pytest.fixture
def number(board: ReportHarness, pull: Pull) -> str:
    made = board.github.run(board.harness.board, pull)
    board.github.upload(made, "preview", previewed())
    return str(made.id)


def test_a_job_is_told_in_one_line_and_in_its_summary(
    board: ReportHarness, pull: Pull, number: str, tmp_path: Path
) -> None:
    """The line contains no untrusted text. The summary is the comment."""
    for each in LABELS:
        board.github.label(board.harness.board, each.name, each.color, each.description)
    summary = tmp_path / "summary.md"
    found = run(board, "--run", number, GITHUB_STEP_SUMMARY=str(summary))
    assert found.exit_code == 0
    assert found.stdout.startswith(
        "pull request 1: reported; labels ready to merge, valid; added ready to merge, valid;"
    )
    assert len(found.stdout.splitlines()) == 1
    assert summary.read_text().split() == pull.comments[0].body.split()


def test_a_dry_run_prints_what_would_be_said(board: ReportHarness, pull: Pull, number: str) -> None:
    found = run(board, "--run", number, "--dry-run")
    assert (found.exit_code, pull.comments, board.written()) == (0, [], [])
    assert "3 of 5 tasks passed" in found.stdout
    assert "[the appeal form](https://github.example/maintainer/board/issues/new?" in found.stdout


def test_a_job_takes_nothing_of_what_is_printed_for_a_command(board: ReportHarness, number: str) -> None:
    lines = run(board, "--run", number, "--dry-run", GITHUB_ACTIONS="true").stdout.splitlines()
    (first,) = (place for place, line in enumerate(lines) if line.startswith("::stop-commands::"))
    token = lines[first].removeprefix("::stop-commands::")
    assert (first, lines[-1]) == (0, f"::{token}::")


def test_json_has_everything(board: ReportHarness, number: str) -> None:
    found = json.loads(run(board, "--run", number, "--dry-run", "--json").stdout)
    assert (found["outcome"], found["number"], found["labels"]) == ("reported", 1, ["ready to merge", "valid"])
    assert found["text"].startswith("<!-- bashboard:submission -->")


def test_a_run_that_another_answers_is_fine(board: ReportHarness, pull: Pull, number: str) -> None:
    board.force(pull, {"submissions/mine/core.jsonl": b"{}\n"})
    found = run(board, "--run", number)
    assert (found.exit_code, found.stdout) == (0, "pull request 1: a newer push has a run of its own\n")


@pytest.mark.parametrize(
    ("environ", "code", "words"),
    [
        ({"GITHUB_REPOSITORY": ""}, 3, "GITHUB_REPOSITORY"),
        ({"GITHUB_TOKEN": ""}, 3, "GITHUB_TOKEN"),
        ({"GITHUB_TOKEN": "unknown"}, 3, "does not know the token"),
    ],
)
def test_what_is_missing_is_said(
    board: ReportHarness, number: str, environ: dict[str, str], code: int, words: str
) -> None:
    found = run(board, "--run", number, **environ)
    assert found.exit_code == code
    assert words in found.stderr


def test_a_run_that_is_none_is_wrong_use(board: ReportHarness) -> None:
    assert run(board, "--run", "77").exit_code == 2


def test_a_broken_file_of_owners_is_told_and_nothing_is_said(board: ReportHarness, pull: Pull, number: str) -> None:
    """No comment is written if the file of owners is broken, because the owner of the name is unknown."""
    (board.project.root / "submissions" / "owners.json").write_text('{"format": 1}')
    found = run(board, "--run", number)
    assert (found.exit_code, pull.comments, board.written()) == (1, [], [])
    assert "owners.json: owners: Field required" in found.stderr
