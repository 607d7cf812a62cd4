"""The first lines of a leaderboard: who leads, by how much, and why a reader can trust it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import NamedTuple

from markupsafe import Markup

from evaluator.leaderboard import standing_values as values
from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.changes_part import NEW_DAYS
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.held_back_errors import errors_of
from evaluator.leaderboard.judges_page import is_quoted
from evaluator.leaderboard.leaderboard_view import BoardView
from evaluator.records import BlindFigures, Standing, Validation


def ranking_judge(board: SuiteBoard) -> str:
    """Return the name of the judge of most rows of a board, or an empty text if it is unknown."""
    judges = Counter(row.judged_by.judge for row in board.standings if row.ranked and row.judged_by)
    if judges:
        return judges.most_common(1)[0][0]
    return (board.environment.get("Judge", "").replace(",", " ").split() or [""])[0]


def render_headline(board: SuiteBoard, view: BoardView, root: str, validation: Validation) -> Markup:
    """Return the HTML of the headline. `root` is the address of the site's root relative to the page."""
    ranked = view.ranked
    newest = max((row for row in ranked if row.added), key=lambda row: (row.added, row.submission), default=None)
    tied = [row for row in ranked if row.tie_group == view.leader.tie_group]
    rendered = render(
        "headline.html",
        view=view,
        leader=view.leader,
        second=view.ranked[1] if len(view.ranked) > 1 else None,
        ahead=view.ahead,
        tied=view.tied,
        open_one=_best(ranked, lambda row: row.open_weights),
        small_open=_best(
            ranked,
            lambda row: row.open_weights and row.parameters is not None and row.parameters < values.SMALL,
        ),
        cheapest=_lowest(tied, lambda row: row.usd_per_task),
        quickest=_lowest(tied, lambda row: row.figures.latency_s),
        weakest=_weakest_topics(view.leader),
        newest=newest,
        recent=_recent(ranked, newest),
        blind=_blind_figures(board, validation),
        errors=errors_of(validation, ranking_judge(board), board.name),
        root=root,
    )
    return Markup(rendered)  # noqa: S704 - a rendered template


def _best(ranked: Sequence[Standing], fits: Callable[[Standing], bool]) -> Standing | None:
    return next((row for row in ranked if fits(row)), None)


def _lowest(rows: Sequence[Standing], cost: Callable[[Standing], float | None]) -> Standing | None:
    """Return the system with the lowest cost. Without two systems that state it, nothing is compared: return None."""
    stated = [(value, row.submission, row) for row in rows if (value := cost(row)) is not None]
    return min(stated)[2] if len(stated) > 1 else None


def _blind_figures(board: SuiteBoard, validation: Validation) -> BlindFigures | None:
    """Return the results on the held-back half of the blind set of this version of the suite, or None."""
    quoted = (row for row in validation.blind if is_quoted(row) and row.judge == ranking_judge(board))
    return next((row for row in quoted if (row.suite, row.suite_version) == (board.name, board.manifest.version)), None)


class WeakestTopics(NamedTuple):
    """The topics in which a system passes the smallest share of the tasks, and this share."""

    topics: Sequence[str]
    share: float


def _weakest_topics(standing: Standing) -> WeakestTopics | None:
    """Return the weakest topics of a system, or None if all its topics are equal."""
    shares = values.topic_shares(standing)
    if len(set(shares.values())) < 2:
        return None
    lowest = min(shares.values())
    return WeakestTopics(sorted(topic for topic, share in shares.items() if share == lowest), lowest)


def _recent(ranked: Sequence[Standing], newest: Standing | None) -> int:
    """Return the number of systems that were added in the 31 days up to the newest one."""
    if newest is None or newest.added is None:
        return 0
    since = newest.added - timedelta(days=NEW_DAYS)
    return sum(row.added is not None and row.added > since for row in ranked)
