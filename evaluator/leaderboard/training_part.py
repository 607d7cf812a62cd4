"""The part of a submission's page about its training data, and about the tasks that are nearly in it."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.figures_part import SCORING
from evaluator.records import Method

MODEL_METHODS: Final = frozenset({Method.PROMPTED, Method.FINE_TUNED, Method.AGENT})
"""The methods of systems with a model, whose training data may contain tasks."""

_UNKNOWN: Final = {
    "not-listed": "the report does not name the near tasks",
    "other-tasks": "the report is about other tasks than those of this board",
    "no-verdicts": "not every task has a verdict",
}


def render_training(board: SuiteBoard, slug: str) -> Markup:
    """Return the HTML of a submission's declared training data, or nothing for a system without a model."""
    manifest = board.submissions[slug]
    if manifest.fine_tuning is None and manifest.method not in MODEL_METHODS:
        return Markup("")
    report = board.near_reports.get(slug)
    rendered = render(
        "training.html",
        suite=board.name,
        tuning=manifest.fine_tuning,
        is_fine_tuned=manifest.method is Method.FINE_TUNED,
        overlap=manifest.fine_tuning and manifest.fine_tuning.contamination.get(board.name),
        report=report,
        unknown=_UNKNOWN[report.missing] if report and report.missing else None,
        scoring=SCORING,
    )
    return Markup(rendered)  # noqa: S704 - a rendered template
