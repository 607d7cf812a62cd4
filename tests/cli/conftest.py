"""A small checkout, judged or not, that tests of the command share."""

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
    """Make the two checkouts that tests copy, `unjudged` and `judged`, in a folder and return it."""
    folder = tmp_path_factory.mktemp("checkouts")
    answers = {
        "good": {"files-1": ["echo a"], "files-2": ["echo b"]},
        "always-true": {"files-1": ["true"], "files-2": ["true"]},
        "lazy": {"files-1": ["ls a", "true"]},
    }
    small_checkout(folder / "unjudged", TASKS, answers)
    shutil.copytree(folder / "unjudged", folder / "judged")
    fake_boards(Project.find(folder / "judged"), SHOWN)
    return folder


@pytest.fixture
def unjudged(checkouts: Path, tmp_path: Path) -> Project:
    """Return a checkout in which nothing was ever executed."""
    shutil.copytree(checkouts / "unjudged", tmp_path, dirs_exist_ok=True)
    return Project.find(tmp_path)


@pytest.fixture
def judged(checkouts: Path, tmp_path: Path) -> Project:
    """Return the same with all evidence and verdicts in its store. No engine is needed to show them."""
    shutil.copytree(checkouts / "judged", tmp_path, dirs_exist_ok=True)
    return Project.find(tmp_path)


@pytest.fixture
def bashboard(judged: Project) -> Bashboard:
    """Runs the command in the judged checkout."""
    return lambda *arguments: run_here(judged.root, *arguments)
