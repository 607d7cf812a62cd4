"""The leaderboard page: the systems in order, the uncertainty of this order, and the task count of each share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from markupsafe import Markup

from evaluator.leaderboard.board import BoardIndex
from evaluator.leaderboard.columns import columns_of, tiers_of
from evaluator.leaderboard.editions_part import render_editions
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.horizon_part import time_source
from evaluator.leaderboard.methods_part import render_methods
from evaluator.records import Standing, TierStanding, Unranked

MAX_AWAITING: Final = 40
"""Number of submissions without verdicts that are named."""

WHY_UNRANKED: Final[Mapping[Unranked, str]] = {
    Unranked.CONTROL: "A control: it tests the board itself.",
    Unranked.NOT_ASKED: "It answers an earlier version, which did not have every task.",
    Unranked.INFRA_ERRORS: "Our machinery failed on some tasks; they are tried again.",
}
"""Why a submission is listed without a rank."""


def render_leaderboard(
    index: BoardIndex,
    drawings: Mapping[str, str],
    root: str,
    others: Sequence[str],
    script: str,
    earlier: Sequence[int] = (),
) -> str:
    """Return the leaderboard's HTML.

    `root` is the address of the site's root relative to the page. `others` names all suites that the page links to.
    `drawings` maps the names of charts to SVG. `script` is the path below `board/` of the script that draws the charts
    in the browser. `earlier` lists the major versions of the suite with a frozen board.
    """
    board = index.board
    folder = f"{root}board/{board.name}"
    place = folder if board.shows_texts else None
    return render(
        "leaderboard.html",
        board=board,
        root=root,
        folder=folder,
        place=place,
        suites=others,
        variants=sum(len(world.variants) for world in board.worlds.values()),
        ranked=index.ranked,
        columns=[(column.key, column.page) for column in columns_of(index.ranked) if column.page],
        groups=max((standing.tie_group or 0 for standing in index.ranked), default=0),
        systems={standing.submission: standing.system for standing in index.ranked},
        tiers=[(name, tasks, _by_tier(index.ranked, name)) for name, tasks in tiers_of(index.ranked).items()],
        editions=render_editions(board),
        methods=render_methods(board, root, place),
        resolution=board.resolution,
        time_source=time_source(board.standings),
        unranked=[(standing, _why_unranked(standing)) for standing in index.unranked],
        marked=sum(bool(row.judged_by and row.judged_by.differs) for row in board.standings),
        max_awaiting=MAX_AWAITING,
        drawings={name: Markup(drawing) for name, drawing in drawings.items()},  # noqa: S704 - drawn by the builder
        script=script,
        earlier=earlier,
    )


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
