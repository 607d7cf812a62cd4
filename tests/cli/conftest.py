"""A small checkout, judged or not, that tests of the command share."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.pipeline.project import Project
from evaluator.testing.checkouts import small_checkout
from evaluator.testing.executor import fake_boards
from tests.cli.command_runs import SHOWN, TASKS, Bashboard, run_here


@pytest.fixture
def unjudged(tmp_path: Path) -> Project:
    """A checkout in which nothing was ever executed."""
    answers = {
        "good": {"files-1": ["echo a"], "files-2": ["echo b"]},
        "always-true": {"files-1": ["true"], "files-2": ["true"]},
        "lazy": {"files-1": ["ls a", "true"]},
    }
    return small_checkout(tmp_path, TASKS, answers)


@pytest.fixture
def judged(unjudged: Project) -> Project:
    """The same, with all evidence and verdicts in its store; no engine is needed to show them."""
    fake_boards(unjudged, SHOWN)
    return unjudged


@pytest.fixture
def bashboard(judged: Project) -> Bashboard:
    """Runs the command in the judged checkout."""
    return lambda *arguments: run_here(judged.root, *arguments)
