"""The part of the leaderboard about sealed editions: the difference between the public accuracy and the sealed one."""

from __future__ import annotations

from markupsafe import Markup

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.environment import render


def render_editions(board: SuiteBoard) -> Markup:
    """Return the HTML of a table with the differences by system, edition and tier, or nothing without an edition."""
    if not board.editions:
        return Markup("")
    systems = {standing.submission: standing.system for standing in board.standings}
    return Markup(render("editions.html", rows=board.editions, systems=systems))  # noqa: S704 - a rendered template
