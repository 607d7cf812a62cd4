"""Fixtures with a board on the double of GitHub.

Every exchange is checked against GitHub's own description if `make test` could download the description.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.github import GitHubServer
from tests.doubles.github.description import KEPT, Description
from tests.github.github_harness import GithubHarness
from tests.github.report_harness import ReportHarness

DESCRIBED = Path(__file__).parents[2] / KEPT


@pytest.fixture(scope="session")
def description() -> Description | None:
    return Description(DESCRIBED) if DESCRIBED.is_file() else None


@pytest.fixture
def harness(tmp_path: Path, description: Description | None) -> Iterator[GithubHarness]:
    """A harness that fails the test if an exchange does not match GitHub's description."""
    with GitHubServer(tmp_path, description or (lambda _: ())) as github:
        yield GithubHarness(github)
        assert github.complaints == []


@pytest.fixture
def board(harness: GithubHarness, tmp_path: Path) -> ReportHarness:
    return ReportHarness(harness, tmp_path)
