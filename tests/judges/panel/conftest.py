"""The panel harness that these tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.judges.panel.panel_harness import PanelHarness


@pytest.fixture
def harness(tmp_path: Path) -> PanelHarness:
    return PanelHarness(tmp_path)
