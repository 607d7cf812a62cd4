"""Run a test that uses the fixture `target` once for each fuzz target."""

from __future__ import annotations

import pytest

from tests.fuzz.target import Target, all_targets

TARGETS = list(all_targets().values())


@pytest.fixture(params=TARGETS, ids=[target.name for target in TARGETS])
def target(request: pytest.FixtureRequest) -> Target:
    """Return one fuzz target."""
    found: Target = request.param
    return found
