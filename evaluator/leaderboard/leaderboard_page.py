"""The leaderboard page: the systems in order, the uncertainty of this order, and the task count of each share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from markupsafe import Markup

from evaluator.leaderboard.board import BoardIndex
from evaluator.leaderboard.columns import columns_of
from evaluator.leaderboard.environment import render
from evaluator.records import Standing, Unranked

MAX_AWAITING: Final = 40
"""Number of submissions without verdicts that are named."""

WHY_UNRANKED: Final[Mapping[Unranked, str]] = {
    Unranked.CONTROL: "A control: it tests the board itself.",
    Unranked.NOT_ASKED: "It answers an earlier version, which did not have every task.",
    Unranked.INFRA_ERRORS: "Our machinery failed on some tasks; they are tried again.",
}
"""Why a submission is listed without a rank."""


def render_leaderboard(
    index: BoardIndex, drawings: Mapping[str, str], root: str, others: Sequence[str], script: str
) -> str:
    """Return the leaderboard's HTML.

    `root` is the address of the site's root relative to the page. `others` names all suites that the page links to.
    `drawings` maps the names of charts to SVG. `script` is the path below `board/` of the script that draws the charts
    in the browser.
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
        resolution=board.resolution,
        unranked=[(standing, _why_unranked(standing)) for standing in index.unranked],
        marked=sum(bool(row.judged_by and row.judged_by.differs) for row in board.standings),
        max_awaiting=MAX_AWAITING,
        drawings={name: Markup(drawing) for name, drawing in drawings.items()},  # noqa: S704 - drawn by the builder
        script=script,
    )


def render_unavailable(name: str, reason: str, root: str, others: Sequence[str]) -> str:
    """Return the HTML of the page of a suite that has no board in this build, with the reason.

    `root` is the address of the site's root relative to the page. `others` names all suites that the page links to.
    """
    return render("unavailable.html", name=name, reason=reason, root=root, suites=others)


def _why_unranked(standing: Standing) -> str:
    if standing.unranked is Unranked.INFRA_ERRORS and standing.judged_by:
        return "Not all of its verdicts are published yet."
    return WHY_UNRANKED[standing.unranked] if standing.unranked else ""
