"""Two controls over the whole suite core: stored answers gain next to nothing, and a disguised copy is a copy."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.scored_boards import make_boards
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import Outcome
from evaluator.testing.checkouts import write_submission
from tests.pipeline.look_up_control import look_up_answers

ROOT = Path(__file__).parents[2]
WHO = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")

pytestmark = [pytest.mark.engine, pytest.mark.soak]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A checkout with the suite core and no submission, whose store the tests share."""
    root = tmp_path_factory.mktemp("controls")
    (root / "fixtures").mkdir()
    (root / "fixtures" / "core").symlink_to(ROOT / "fixtures" / "core")
    return Project.find(root)


def scored(project: Project, slug: str, answers: Mapping[str, str], *, fresh: bool) -> SuiteBoard:
    """Write and commit a submission to core, score it, and return the board with it alone."""
    suite = project.suite("core")
    commands = {task: [command] for task, command in answers.items()}
    write_submission(project.root, slug, commands, suite="core", version=suite.manifest.version)
    for words in (["init", "-q"], ["add", "submissions"], ["commit", "-q", "-m", f"Add {slug}"]):
        subprocess.run(["git", *WHO, "-C", str(project.root), *words], check=True)
    (board,) = make_boards(project, NullProgress(), submissions=[slug], fresh=fresh)
    return board


def passes(board: SuiteBoard) -> set[str]:
    return {result.task for result in board.results if result.finding.outcome is Outcome.PASS}


def test_stored_answers_are_defeated_by_the_fresh_variant(project: Project) -> None:
    """In the known variants most stored answers pass. With the fresh variant, those of 23 tasks do.

    The answers to these tasks depend on no seed, for example if a task sets a fixed mode.
    """
    suite = project.suite("core")
    predictions = look_up_answers(project, NullProgress(), suite)
    answers = {each.task: each.candidates[0].command.decode() for each in predictions if each.candidates}
    assert len(answers) > len(suite.tasks) * 2 / 3
    known = passes(scored(project, "look-up", answers, fresh=False))
    assert len(known) > len(answers) / 2
    board = scored(project, "look-up-fresh", answers, fresh=True)
    assert len(passes(board)) <= len(suite.tasks) / 12, sorted(passes(board))
    marked = {result.task for result in board.results if result.run and result.run.stored_output}
    assert len(marked) > len(answers) / 2


def test_a_reference_behind_a_command_that_does_nothing_is_marked_as_a_copy(project: Project) -> None:
    """Every answer passes, and every answer is marked as verbatim, as a copy is."""
    tasks = project.suite("core").tasks
    board = scored(project, "wrapped", {task.id: _wrapped(task.references[0].decode()) for task in tasks}, fresh=False)
    assert passes(board) == {task.id for task in tasks}
    assert [result.task for result in board.results if result.text is None or not result.text.verbatim] == []


def _wrapped(command: str) -> str:
    """Return a command with a call of `:` before it. The first line of a script that names its program stays first."""
    if not command.startswith("#!"):
        return f": h; {command}"
    program, _, rest = command.partition("\n")
    return f"{program}\n: h\n{rest}"
