"""A submission against a person's time: how much it passes within once, twice and four times that time."""

from __future__ import annotations

from typing import Final

from evaluator.leaderboard.environment import render
from evaluator.records import Standing

_MEANING: Final = {"all": "all tasks", "empirical": "of measured time", "estimated": "of estimated time"}


def render_horizon(standing: Standing) -> str:
    """Return a table by how people's times are known, a sentence if no latency is reported, or nothing."""
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
    )
