"""The panel harness that these tests share, and the certificates of their clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.judges.panel.panel_harness import PanelHarness


@pytest.fixture(scope="module", autouse=True)
def clients_without_certificates(without_certificates: None) -> None:
    """Load no certificates in these tests."""


@pytest.fixture
def harness(tmp_path: Path) -> PanelHarness:
    return PanelHarness(tmp_path)
