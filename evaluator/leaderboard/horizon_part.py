"""The part of a submission's page about its horizon: the tasks passed within 1, 2 and 4 times a person's time."""

from __future__ import annotations

from typing import Final

from evaluator.leaderboard.environment import render
from evaluator.records import Standing

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
    )
