"""The number of examples of property tests, by Hypothesis's profile."""

from __future__ import annotations

from hypothesis import settings


def examples(number: int) -> int:
    """Return the number of examples that a property test runs. The quick profile runs a quarter of `number`."""
    return max(1, number * settings().max_examples // 100)
