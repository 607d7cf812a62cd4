"""The part of a submission's page with the metrics that do not affect the submission's rank."""

from __future__ import annotations

from typing import Final

from evaluator.leaderboard.environment import render
from evaluator.leaderboard.formats import percent, spread
from evaluator.records import Standing

SCORING: Final = "../../../../scoring/"
"""The method page's address, relative to a submission's page."""

MAX_UTILITIES: Final = 12
"""Number of utilities shown, those with the most tasks. The downloads have all."""


def render_metrics(standing: Standing) -> str:
    """Return the HTML of all metrics of one submission, in groups."""
    metrics = standing.figures
    low, high = metrics.judge_low, metrics.judge_high
    error = None if low is None or high is None else f"{spread(percent(low), percent(high))} %"
    common = sorted(metrics.utilities.items(), key=lambda item: (-item[1].asked, item[0]))[:MAX_UTILITIES]
    return render(
        "metrics.html",
        standing=standing,
        metrics=metrics,
        judge_error=error,
        difficulties=[(name, tally) for name, tally in metrics.difficulties.items() if tally.asked],
        utilities=[(name, tally) for name, tally in common if tally.asked],
        scoring=SCORING,
    )
