"""The part of the page about judges with the audits: how often a panel disagrees with verdicts by execution alone."""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.leaderboard.environment import render
from evaluator.records import Audit


def render_audits(audits: Sequence[Audit]) -> str:
    """Return the HTML of a table with a row for each audit, the latest first."""
    return render("audits.html", audits=sorted(audits, key=lambda audit: (audit.day, audit.suite), reverse=True))
