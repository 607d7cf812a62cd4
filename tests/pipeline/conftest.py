"""The grading harness that tests of the pipeline share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.grading_bench import GradingHarness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[GradingHarness]:
    made = GradingHarness(tmp_path)
    yield made
    made.store.close()
