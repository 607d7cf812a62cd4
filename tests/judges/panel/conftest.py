"""The panel's bench, which its tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.judges.panel.panel_bench import PanelBench


@pytest.fixture
def bench(tmp_path: Path) -> PanelBench:
    return PanelBench(tmp_path)
