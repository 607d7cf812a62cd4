"""The checkout in which answers are generated, and the certificates of the clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.pipeline.project import Project
from tests.generation.generation_harness import forty_tasks


@pytest.fixture(scope="module", autouse=True)
def clients_without_certificates(without_certificates: None) -> None:
    """Load no certificates in these tests."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A checkout with forty tasks, forty training pairs and no submission."""
    return forty_tasks(tmp_path)
