"""Derive the wall-clock limit of a task from the measured time of its references."""

from __future__ import annotations

from typing import Final, Literal

WallLimit = Literal[10, 20, 30]

WALL_LIMITS: Final[tuple[WallLimit, ...]] = (10, 20, 30)
"""The wall-clock limits that a task may have, in seconds."""

REFERENCE_FACTOR: Final = 10
"""A candidate may take as many times the wall time of the slowest reference."""

CHANGE_FACTOR: Final = 2
"""A limit changes only if the measured time is outside its range by more than this factor."""


def wall_class(slowest_ms: float, current: int | None) -> WallLimit:
    """Return the wall-clock limit of a task in seconds: 10, 20 or 30.

    `slowest_ms` is the wall time of the task's slowest reference in milliseconds. The limit is ten times this time,
    rounded up to the next of the three values. 30 is the highest value, also for a slower reference.

    `current` is the limit that the task has, or None. It stays unless ten times the measured time is more than twice
    the limit, or less than half of the next lower limit. So two measurements of one machine seldom differ in their
    limits, which are part of the evidence key.

    >>> wall_class(40, None), wall_class(1100, None), wall_class(2800, None), wall_class(9000, None)
    (10, 20, 30, 30)
    >>> wall_class(1900, 10), wall_class(2100, 10)
    (10, 30)
    >>> wall_class(600, 20), wall_class(400, 20), wall_class(1100, 30), wall_class(900, 30)
    (20, 10, 30, 10)
    """
    needed_s = REFERENCE_FACTOR * slowest_ms / 1000
    for limit, below in zip(WALL_LIMITS, (0, *WALL_LIMITS), strict=False):
        is_near = needed_s <= CHANGE_FACTOR * limit or limit == WALL_LIMITS[-1]
        if limit == current and is_near and needed_s >= below / CHANGE_FACTOR:
            return limit
    return next((limit for limit in WALL_LIMITS if needed_s <= limit), WALL_LIMITS[-1])


def longest_reference_s(wall_s: int | None) -> float:
    """Return the longest wall time of a reference, in seconds, from which a task has the limit `wall_s`.

    A task without a limit of its own is expected to be as short as most tasks.
    """
    return (wall_s or WALL_LIMITS[0]) / REFERENCE_FACTOR
