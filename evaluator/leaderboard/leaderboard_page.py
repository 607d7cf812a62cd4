"""The leaderboard page: the systems in order, the uncertainty of this order, and the task count of each share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from evaluator.leaderboard.board import BoardIndex
from evaluator.leaderboard.chart_groups import ChartGroup
from evaluator.leaderboard.columns import page_columns, tiers_of
from evaluator.leaderboard.editions_part import render_editions
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.headline_part import render_headline
from evaluator.leaderboard.horizon_part import time_source
from evaluator.leaderboard.leaderboard_view import BoardView
from evaluator.leaderboard.methods_part import render_methods
from evaluator.leaderboard.overview_part import OverviewRow, render_overview
from evaluator.leaderboard.rows_file import FIRST_ROWS, ROWS_NAME, rows_json, table_facts
from evaluator.records import Method, Standing, TierStanding, Unranked, Validation

MAX_AWAITING: Final = 40
"""Number of submissions without verdicts that are named."""

WHY_UNRANKED: Final[Mapping[Unranked, str]] = {
    Unranked.CONTROL: "A control: it tests the board itself.",
    Unranked.NOT_ASKED: "It answers an earlier version, which did not have every task.",
    Unranked.INFRA_ERRORS: "Our machinery failed on some tasks; they are tried again.",
}
"""Why a submission is listed without a rank."""

TIER_ROWS: Final = 10
"""Number of systems in the table of a tier. The first table has a column for each tier."""

UNMEASURED: Final = Validation(format=1)


def render_leaderboard(
    index: BoardIndex,
    groups: Sequence[ChartGroup],
    root: str,
    others: Sequence[str],
    script: str,
    earlier: Sequence[int] = (),
    *,
    validation: Validation = UNMEASURED,
    overview: Sequence[OverviewRow] = (),
) -> str:
    """Return the leaderboard's HTML. Only the first FIRST_ROWS systems are in its table.

    `root` is the address of the site's root relative to the page. `others` names all suites that the page links to.
    `groups` are the charts. `script` is the path below `board/` of the script that draws the charts in the browser.
    `earlier` lists the major versions of the suite with a frozen board. `validation` has the errors of the judge, and
    `overview` the leaders of all suites and tiers.
    """
    board = index.board
    folder = f"{root}board/{board.name}"
    place = folder if board.shows_texts else None
    view = BoardView.of(index.ranked, place)
    listed = [(standing, _why_unranked(standing)) for standing in index.unranked]
    return render(
        "leaderboard.html",
        board=board,
        root=root,
        folder=folder,
        place=place,
        view=view,
        suites=others,
        variants=sum(len(world.variants) for world in board.worlds.values()),
        ranked=index.ranked,
        first_rows=FIRST_ROWS,
        tier_rows=TIER_ROWS,
        rows_name=ROWS_NAME,
        facts=table_facts(index.ranked),
        columns=[(key, cell) for key, cell in page_columns(index.ranked) if cell.shown],
        groups=max((standing.tie_group or 0 for standing in index.ranked), default=0),
        headline=render_headline(board, view, root, validation) if index.ranked else "",
        overview=render_overview(overview, root, board.name),
        tiers=[(name, tasks, _by_tier(index.ranked, name)) for name, tasks in tiers_of(index.ranked).items()],
        editions=render_editions(board),
        methods=render_methods(board, root, place),
        resolution=board.resolution,
        time_source=time_source(board.standings),
        unranked=[(standing, why) for standing, why in listed if standing.method is not Method.CONTROL],
        controls=[(standing, why) for standing, why in listed if standing.method is Method.CONTROL],
        marked=sum(bool(row.judged_by and row.judged_by.differs) for row in board.standings),
        max_awaiting=MAX_AWAITING,
        charts_shown=groups,
        script=script,
        earlier=earlier,
    )


def render_all_systems(index: BoardIndex) -> str:
    """Return the HTML of the page with all ranked systems, which lies in the folder `all` of a board's folder."""
    view = BoardView.of(index.ranked, ".." if index.board.shows_texts else None)
    return render("all_systems.html", board=index.board, ranked=index.ranked, view=view)


def render_rows(index: BoardIndex) -> str:
    """Return the file with the rows of the leaderboard's table, which lies in a board's folder."""
    return rows_json(index.ranked, BoardView.of(index.ranked, "." if index.board.shows_texts else None))


def _by_tier(ranked: Sequence[Standing], tier: str) -> list[tuple[Standing, TierStanding]]:
    """Return the ranked systems with their standings on a tier, the best first."""
    rows = [(standing, standing.tiers[tier]) for standing in ranked if tier in standing.tiers]
    return sorted(rows, key=lambda row: (-row[1].accuracy, row[0].submission))


def render_unavailable(name: str, reason: str, root: str, others: Sequence[str]) -> str:
    """Return the HTML of the page of a suite that has no board in this build, with the reason.

    `root` is the address of the site's root relative to the page. `others` names all suites that the page links to.
    """
    return render("unavailable.html", name=name, reason=reason, root=root, suites=others)


def _why_unranked(standing: Standing) -> str:
    if standing.unranked is Unranked.INFRA_ERRORS and standing.judged_by:
        return "Not all of its verdicts are published yet."
    return WHY_UNRANKED[standing.unranked] if standing.unranked else ""
