"""Fixtures with a GitHub double on loopback.

Every exchange is checked against GitHub's API description if `make test` downloaded the description.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.github import GitHubServer
from tests.doubles.github.description import KEPT, Description
from tests.publishing.hosted_checkout import HostedCheckout, Watch

DESCRIBED = Path(__file__).parents[2] / KEPT


@pytest.fixture(scope="session")
def description() -> Description | None:
    return Description(DESCRIBED) if DESCRIBED.is_file() else None


@pytest.fixture
def watch(description: Description | None) -> Watch:
    """A hook that runs between two requests."""
    return Watch(description)


@pytest.fixture
def github(tmp_path: Path, watch: Watch) -> Iterator[GitHubServer]:
    """A GitHub double. Every exchange with it must match GitHub's API description."""
    with GitHubServer(tmp_path / "github", watch) as served:
        yield served
        assert served.complaints == []


@pytest.fixture
def hosted(tmp_path: Path, github: GitHubServer, watch: Watch) -> HostedCheckout:
    """A checkout of a small board on GitHub."""
    return HostedCheckout(github, tmp_path / "checkout", watch)
