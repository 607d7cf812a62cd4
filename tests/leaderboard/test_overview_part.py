"""The overview has a row for each suite and tier with its leader, if there are several."""

from __future__ import annotations

import dataclasses

from evaluator.leaderboard.board import BoardIndex, index_board
from evaluator.leaderboard.overview_part import overview_rows, render_overview
from evaluator.records import Tier, TierStanding
from evaluator.testing.boards import drawn_board

INDEX = index_board(drawn_board(4, 8, candidates=1, seed=7))


def named(index: BoardIndex, name: str) -> BoardIndex:
    manifest = index.board.manifest.model_copy(update={"name": name})
    return dataclasses.replace(index, board=dataclasses.replace(index.board, manifest=manifest))


def test_one_suite_without_tiers_needs_no_overview() -> None:
    assert overview_rows([INDEX]) == ()
    assert render_overview((), "", "core") == ""


def test_each_suite_has_a_row_with_its_leader() -> None:
    rows = overview_rows([INDEX, named(INDEX, "other"), dataclasses.replace(named(INDEX, "empty"), ranked=())])
    assert [(row.suite, row.systems) for row in rows] == [("core", 4), ("other", 4), ("empty", 0)]
    page = str(render_overview(rows, "../../", "core"))
    slug = INDEX.ranked[0].submission
    assert f'href="../../board/other/submissions/{slug}/"' in page
    assert page.count("No system is ranked yet") == 1


def test_each_tier_has_its_own_leader() -> None:
    def tier(accuracy: float) -> TierStanding:
        return TierStanding(asked=4, passed=2, accuracy=accuracy, accuracy_low=0.1, accuracy_high=0.9)

    easy, hard = next(iter(Tier)), list(Tier)[-1]
    ranked = tuple(
        row.model_copy(update={"tiers": {easy: tier(0.9 - number / 10), hard: tier(number / 10)}})
        for number, row in enumerate(INDEX.ranked)
    )
    rows = overview_rows([dataclasses.replace(INDEX, ranked=ranked)])
    assert [(row.tier, row.leader.submission if row.leader else "") for row in rows] == [
        ("", ranked[0].submission),
        (easy.value, ranked[0].submission),
        (hard.value, ranked[-1].submission),
    ]
    page = str(render_overview(rows, "", "core"))
    assert f'href="#standings-{hard.value}-caption"' in page
    assert f'href="board/core/#standings-{hard.value}-caption"' in str(render_overview(rows, "", "other"))
