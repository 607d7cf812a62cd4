"""The suites of this repository, without suites of other publishers that `suite add` put beside them."""

from __future__ import annotations

import functools
from pathlib import Path

from evaluator.suites.load import Suite, find_suites, load_suite

ROOT = Path(__file__).parents[1]


@functools.cache
def own_suites() -> tuple[Suite, ...]:
    """Return the suites of this repository, sorted by name."""
    suites = map(load_suite, find_suites(ROOT / "fixtures").values())
    return tuple(suite for suite in suites if not suite.manifest.foreign)


def packages_of_core() -> tuple[str, ...]:
    """Return the packages of core's base. A small suite with them is executed in core's image."""
    return load_suite(ROOT / "fixtures" / "core").manifest.base.packages
