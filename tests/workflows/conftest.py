from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.github import GitHubServer
from tests.doubles.workflows import Actions
from tests.workflows.workflow_bench import WorkflowHarness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[WorkflowHarness]:
    with GitHubServer(tmp_path / "github") as github:
        board = github.repository("board", github.user("maintainer"))
        yield WorkflowHarness(github, board, Actions(github, board, tmp_path / "actions"))
        assert not github.complaints
