"""The rank of a submission on an earlier day is among the systems that were on the board then."""

from __future__ import annotations

import dataclasses
from datetime import date

from evaluator.leaderboard.board import SuiteBoard, index_board
from evaluator.leaderboard.submission_page import render_rank_history, render_submission
from evaluator.pipeline.boards.rank_history import MONTHS, rank_history
from evaluator.testing.boards import drawn_board

BOARD = drawn_board(4, 60, candidates=1, seed=3)
FIRST, SECOND, THIRD, LAST = (row.submission for row in BOARD.standings)


def dated(**days: date | None) -> SuiteBoard:
    """Return the board with these days of addition, by the place of a system from `a`, the best."""
    rows = tuple(
        row.model_copy(update={"added": days.get(name)}) for name, row in zip("abcd", BOARD.standings, strict=True)
    )
    return dataclasses.replace(BOARD, standings=rows)


def test_a_better_system_that_is_added_later_moves_the_others() -> None:
    board = dated(a=date(2025, 3, 9), b=date(2025, 1, 10), c=date(2025, 1, 31), d=date(2025, 2, 1))
    history = rank_history(board)
    ranks = {slug: [(day.day.isoformat(), day.rank, day.systems) for day in days] for slug, days in history.items()}
    assert ranks == {
        FIRST: [("2025-03-09", 1, 4)],
        SECOND: [("2025-01-31", 1, 2), ("2025-02-28", 1, 3), ("2025-03-09", 2, 4)],
        THIRD: [("2025-01-31", 2, 2), ("2025-02-28", 2, 3), ("2025-03-09", 3, 4)],
        LAST: [("2025-02-28", 3, 3), ("2025-03-09", 4, 4)],
    }


def test_on_the_last_day_ranks_and_groups_are_those_of_the_board() -> None:
    board = drawn_board(12, 60, candidates=1, seed=5)
    history = rank_history(board)
    assert {slug: days[-1].tie_group for slug, days in history.items()} == {
        row.submission: row.tie_group for row in board.standings
    }
    assert len({days[-1].groups for days in history.values()}) == 1
    assert all(
        (row.rank_low or 0) <= history[row.submission][-1].rank <= (row.rank_high or 0) for row in board.standings
    )


def test_equal_systems_share_the_better_rank() -> None:
    board = dated(a=date(2025, 1, 1), b=date(2025, 1, 1), c=date(2025, 1, 1), d=None)
    rows = tuple(row.model_copy(update={"passed": 9 if row.submission != THIRD else 5}) for row in board.standings)
    history = rank_history(dataclasses.replace(board, standings=rows))
    assert [history[slug][-1].rank for slug in (FIRST, SECOND, THIRD)] == [1, 1, 3]


def test_a_system_without_a_day_has_no_history() -> None:
    assert LAST not in rank_history(dated(a=date(2025, 1, 1), b=date(2025, 2, 1), c=date(2025, 3, 1)))
    assert rank_history(dated()) == {}


def test_the_history_has_a_year_at_most() -> None:
    history = rank_history(dated(a=date(2020, 1, 1), b=date(2025, 2, 1)))
    assert len(history[FIRST]) == MONTHS + 1
    assert history[FIRST][0].day == date(2024, 2, 29)


def test_the_page_shows_the_latest_day_first() -> None:
    board = dated(a=date(2025, 3, 9), b=date(2025, 1, 10), c=date(2025, 1, 31), d=date(2025, 2, 1))
    board = dataclasses.replace(board, rank_history=rank_history(board))
    index = index_board(board)
    page = render_submission(index, next(row for row in index.ranked if row.submission == SECOND))
    part = page.split('id="history"')[1].split("</table>")[0]
    assert part.index("2025-03-09") < part.index("2025-01-31")
    assert render_rank_history(board, FIRST) == ""
