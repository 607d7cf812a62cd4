"""The panel harness that these tests share, and one TLS context for all their clients."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.judges.panel.panel_harness import PanelHarness


@pytest.fixture(scope="session", autouse=True)
def one_tls_context() -> Iterator[None]:
    """Load the certificates once. Each client loads them again otherwise, which takes longer than its requests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
        yield


@pytest.fixture
def harness(tmp_path: Path) -> PanelHarness:
    return PanelHarness(tmp_path)
