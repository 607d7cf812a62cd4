"""The overview over all suites and tiers: who leads each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from evaluator.leaderboard.board import BoardIndex
from evaluator.leaderboard.columns import tiers_of
from evaluator.leaderboard.environment import render
from evaluator.records import Standing, Tier


class OverviewRow(NamedTuple):
    """The leader of a suite, or of one tier of it. `leader` is None if no system is ranked.

    `accuracy`, `low` and `high` are the leader's accuracy and its interval. `systems` counts the ranked systems.
    """

    suite: str
    tier: str
    leader: Standing | None
    accuracy: float
    low: float
    high: float
    systems: int
    has_pages: bool


def overview_rows(indexes: Sequence[BoardIndex]) -> tuple[OverviewRow, ...]:
    """Return the rows of all suites and tiers, or no rows if there is only one suite without tiers."""
    rows = tuple(row for index in indexes for row in _rows(index))
    return rows if len(rows) > 1 else ()


def _rows(index: BoardIndex) -> Iterator[OverviewRow]:
    name, has_pages = index.board.name, index.board.shows_texts
    if not index.ranked:
        yield OverviewRow(name, "", None, 0, 0, 0, 0, has_pages)
        return
    first = index.ranked[0]
    interval = (first.accuracy, first.accuracy_low, first.accuracy_high)
    yield OverviewRow(name, "", first, *interval, len(index.ranked), has_pages)
    for tier in tiers_of(index.ranked):
        own = [(row, row.tiers[Tier(tier)]) for row in index.ranked if Tier(tier) in row.tiers]
        leader, best = min(own, key=lambda item: (-item[1].accuracy, item[0].submission))
        yield OverviewRow(name, tier, leader, best.accuracy, best.accuracy_low, best.accuracy_high, len(own), has_pages)


def render_overview(rows: Sequence[OverviewRow], root: str, current: str) -> Markup:
    """Return the HTML of the overview, or nothing without rows.

    `root` is the address of the site's root relative to the page, and `current` the suite of the page.
    """
    if not rows:
        return Markup("")
    return Markup(render("overview.html", rows=rows, root=root, current=current))  # noqa: S704 - a rendered template
