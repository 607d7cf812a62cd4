"""Tests of the control `look-up` in real containers: it passes the public variants, and fails the fresh one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from evaluator.pipeline.boards.scored_boards import make_boards
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import Outcome
from evaluator.suites.load import load_suite
from evaluator.testing.checkouts import small_task, write_submission, write_suite
from tests.own_suites import packages_of_core
from tests.pipeline.look_up_control import look_up_answers

WHO = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
BUILD = b"""
mkdir -p /srv/data; cd /srv/data
printf 'line %s\\n' "$SEED" $((SEED * 7)) $((SEED * 11)) > it\\'s.txt
printf 'old\\n' > gone.txt
"""
TASKS = [
    small_task("files-1", references=("cat /srv/data/*.txt", "tail -qn +1 /srv/data/*.txt"), nl="Print the files"),
    small_task(
        "files-2",
        references=("cd /srv/data; sort it*.txt > sorted; rm gone.txt", "cd /srv/data; sort -o sorted it*; rm gone*"),
        nl="Sort the lines",
        output="none",
    ),
]


@pytest.mark.engine
def test_stored_answers_pass_without_a_fresh_variant_and_fail_with_one(tmp_path: Path) -> None:
    """The outputs and files of both variants are stored. Only a variant with a new seed tells them from an answer."""
    outcomes = []
    for fresh in (None, {"world": "one"}):
        root = tmp_path / str(fresh is None)
        folder = write_suite(root, TASKS, build=BUILD, fresh=fresh, packages=packages_of_core())
        world = folder / "worlds" / "world" / "world.toml"
        text = world.read_text().replace("seed = 2\n", "seed = 2\nclock = 2025-05-01T12:00:00Z\n")
        world.write_text(text.replace("format = 1", "format = 4"))
        project, suite = Project.find(root), load_suite(folder)
        answers = {
            each.task: [(each.candidates or ())[0].command.decode()]
            for each in look_up_answers(project, NullProgress(), suite)
        }
        assert "sort" not in "".join(command for commands in answers.values() for command in commands)
        write_submission(root, "look", answers)
        for words in (["init", "-q"], ["add", "submissions"], ["commit", "-q", "-m", "Add an answer"]):
            subprocess.run(["git", *WHO, "-C", str(root), *words], check=True)
        (board,) = make_boards(project, NullProgress(), workers=1)
        outcomes.append({result.task: result.finding.outcome for result in board.results})
        assert {result.run.stored_output for result in board.results if result.run} == {True}
    assert outcomes == [dict.fromkeys(("files-1", "files-2"), outcome) for outcome in (Outcome.PASS, Outcome.FAIL)]
