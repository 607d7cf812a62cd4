"""The tables of the tiers are short, because the first table has a column for each tier."""

from __future__ import annotations

import dataclasses

from evaluator.leaderboard.board import index_board
from evaluator.leaderboard.columns import page_columns
from evaluator.leaderboard.leaderboard_page import TIER_ROWS, render_leaderboard
from evaluator.records import Tally, Tier, TierStanding
from evaluator.testing.boards import drawn_board

INDEX = index_board(drawn_board(TIER_ROWS + 3, 8, candidates=1, seed=7))


def test_the_table_of_a_tier_has_the_first_systems_and_says_so() -> None:
    tier = TierStanding(asked=4, passed=2, accuracy=0.5, accuracy_low=0.1, accuracy_high=0.9)
    rows = {row.submission: row.model_copy(update={"tiers": {Tier.ADVANCED: tier}}) for row in INDEX.board.standings}
    board = dataclasses.replace(INDEX.board, standings=tuple(rows.values()))
    index = dataclasses.replace(INDEX, board=board, ranked=tuple(rows[row.submission] for row in INDEX.ranked))
    page = str(render_leaderboard(index, (), "", ["core"], "vega.js"))
    table = page.split('id="standings-core"')[1].split("</table>")[0]
    assert table.count('<th scope="row"') == TIER_ROWS
    assert f"the first {TIER_ROWS} of {TIER_ROWS + 3} systems" in table


def test_the_topics_stay_if_every_weakest_topic_is_equal() -> None:
    """Two systems with nothing passed in different topics have different strips."""
    first, second = (
        row.model_copy(update={"topics": {"files": Tally(asked=4, passed=a), "text": Tally(asked=4, passed=b)}})
        for row, (a, b) in zip(INDEX.ranked, ((0, 3), (2, 0)), strict=False)
    )
    assert "strip" in {key for key, _ in page_columns([first, second])}
