"""The part of a submission's page about people's times: the tasks passed within them, and the half length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evaluator.leaderboard.environment import render
from evaluator.records import Standing, SubmissionMetrics

ESTIMATED: Final = "estimated, nobody timed"
"""The source of people's times if no time of the suite was measured."""

_MINUTE: Final = 60.0
_MEANING: Final = {"all": "all tasks", "empirical": "of measured time", "estimated": "of estimated time"}


def render_horizon(standing: Standing) -> str:
    """Return the HTML of a submission's horizon: a table, or a sentence if the submission reports no latency.

    Return "" if no human time is known.
    """
    slices = standing.figures.horizon
    if not slices:
        return ""
    return render(
        "horizon.html",
        slices=slices,
        factors=sorted({factor for part in slices for factor in part.within or {}}),
        reports_latency=any(part.within is not None for part in slices),
        published=standing.judged_by is not None,
        meaning=_MEANING,
        source=time_source([standing]),
        half=_half_length(standing.figures),
    )


def time_source(standings: Sequence[Standing]) -> str:
    """Return the source of people's times on a board, as the end of a title."""
    slices = {part.slice for standing in standings for part in standing.figures.horizon}
    return "measured, or estimated where nobody was timed" if "empirical" in slices else ESTIMATED


def _half_length(figures: SubmissionMetrics) -> tuple[str, str] | None:
    """Return the half length in minutes and its interval, or None if there is no half length."""
    if figures.half_s is None:
        return None
    low, high = (None if bound is None else _minutes(bound) for bound in (figures.half_low_s, figures.half_high_s))
    if low and high:
        return _minutes(figures.half_s), f"{low} to {high}"
    return _minutes(figures.half_s), f"at least {low}" if low else f"at most {high}" if high else "unbounded"


def _minutes(seconds: float) -> str:
    return f"{seconds / _MINUTE:.1f}"
