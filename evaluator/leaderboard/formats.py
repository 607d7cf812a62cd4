"""This module formats numbers as text for pages and terminals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from evaluator.records import Standing

APART: Final = 0.05
"""The adjusted p-value at or under which a system begins a tie group."""


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal, without the percent sign."""
    return f"{100 * share:.1f}"


def percentage(share: float | None) -> str | None:
    """Return a share as a percentage with the percent sign, or None if the share is None."""
    return None if share is None else f"{percent(share)} %"


def percentages(shares: Mapping[int, float]) -> str | None:
    """Return shares as percentages in one text, or None if there are no shares.

    Each key is a number of first candidates, to which the share applies. The text has the order of these numbers.
    """
    return " / ".join(percent(share) for _, share in sorted(shares.items())) + " %" if shares else None


def decimal(value: float | None) -> str | None:
    """Return a number with three decimals, or None if the number is None."""
    return None if value is None else f"{value:.3f}"


def quantity(value: float | None, unit: str = "") -> str | None:
    """Return a number with its unit, or None if the number is None.

    A number from 1,000 on is shown as an integer, and a smaller one with at most four significant digits.
    """
    if value is None:
        return None
    return f"{value:,.0f}{unit}" if value >= 999.5 else f"{value:.4g}{unit}"


def integer(value: float | None, unit: str = "") -> str | None:
    """Return a number rounded to an integer, with its unit, or None if the number is None."""
    return None if value is None else f"{value:,.0f}{unit}"


def size(parameters: int | None) -> str | None:
    """Return a number of parameters in billions or millions with three significant digits, or None if it is None.

    >>> size(32_000_000_000), size(1_540_000_000), size(600_000_000), size(None)
    ('32 B', '1.54 B', '600 M', None)
    """
    if parameters is None:
        return None
    if parameters >= 999_500_000:
        return f"{float(f'{parameters / 1e9:.3g}'):,.12g} B"
    return f"{float(f'{parameters / 1e6:.3g}'):,.12g} M" if parameters >= 1_000_000 else f"{parameters:,}"


def latency(seconds: float | None) -> str | None:
    """Return a time with two significant digits, in milliseconds if it is below 0.1 s, or None if it is None.

    >>> latency(8.25), latency(0.02), latency(0.00005), latency(49), latency(None)
    ('8.2 s', '20 ms', '0.05 ms', '49 s', None)
    """
    if seconds is None:
        return None
    if seconds >= 0.1:
        return quantity(float(f"{seconds:.2g}"), " s")
    return f"{float(f'{1000 * seconds:.2g}'):.12g} ms"


def dollars(value: float | None) -> str | None:
    """Return an amount in US dollars with two decimals, or with two significant digits if it is below 0.1.

    >>> dollars(1234.5), dollars(0.25), dollars(0.00123), dollars(0.0), dollars(None)
    ('$1,234.50', '$0.25', '$0.0012', '$0', None)
    """
    if value is None or value == 0:
        return None if value is None else "$0"
    decimals = 2 if value >= 0.1 else 1 - math.floor(math.log10(value))
    return f"${value:,.{decimals}f}"


def signed(score: float) -> str:
    """Return a score with three decimals. A negative score has a typographic minus sign."""
    return f"{score:.3f}".replace("-", "\N{MINUS SIGN}")


def points(difference: float) -> str:
    """Return a difference of shares in percentage points with its sign and one decimal."""
    return f"{100 * difference:+.1f}".replace("-", "\N{MINUS SIGN}")


def spread(low: str | int | None, high: str | int | None) -> str:
    """Return the range from low to high as text, or a single number if both are equal."""
    return f"{low}" if low == high else f"{low}\N{EN DASH}{high}"


def begins_group(standing: Standing) -> bool:
    """Return whether a system is the best of its tie group, so that a new group begins with the system.

    Such a system differs significantly from the best of the tie group above, or is the first of all systems.
    """
    return standing.p_adjusted is None or standing.p_adjusted <= APART
