"""Fixtures for tests of the command: a small checkout, with and without verdicts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evaluator.pipeline.project import Project
from evaluator.testing.checkouts import small_checkout
from evaluator.testing.executor import fake_boards
from tests.cli.command_runs import SHOWN, TASKS, Bashboard, run_here


@pytest.fixture(scope="session")
def checkouts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two checkouts that tests copy: `unjudged` and `judged`."""
    folder = tmp_path_factory.mktemp("checkouts")
    answers = {
        "good": {"files-1": ["echo a"], "files-2": ["echo b"]},
        "always-true": {"files-1": ["true"], "files-2": ["true"]},
        "lazy": {"files-1": ["ls a", "true"]},
    }
    small_checkout(folder / "unjudged", TASKS, answers)
    shutil.copytree(folder / "unjudged", folder / "judged")
    fake_boards(Project.find(folder / "judged"), SHOWN, everything=True)
    return folder


@pytest.fixture
def unjudged(checkouts: Path, tmp_path: Path) -> Project:
    """A copy of the checkout in which no command was executed."""
    shutil.copytree(checkouts / "unjudged", tmp_path, dirs_exist_ok=True)
    return Project.find(tmp_path)


@pytest.fixture
def judged(checkouts: Path, tmp_path: Path) -> Project:
    """A copy of the checkout whose store has all evidence and verdicts. Commands that show them need no engine."""
    shutil.copytree(checkouts / "judged", tmp_path, dirs_exist_ok=True)
    return Project.find(tmp_path)


@pytest.fixture
def bashboard(judged: Project) -> Bashboard:
    """A function that runs the command in the judged checkout."""
    return lambda *arguments: run_here(judged.root, *arguments)
