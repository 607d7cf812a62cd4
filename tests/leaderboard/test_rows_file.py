"""The file of a board's rows holds the cells of the page, and text of a submission acts nowhere in it."""

from __future__ import annotations

import json
import re

import pytest

from evaluator.leaderboard.board import index_board
from evaluator.leaderboard.columns import page_columns
from evaluator.leaderboard.leaderboard_page import render_all_systems, render_leaderboard, render_rows
from evaluator.leaderboard.leaderboard_view import BoardView
from evaluator.leaderboard.rows_file import FIRST_ROWS, table_facts
from evaluator.leaderboard.standing_values import frontier, size_class
from evaluator.testing.boards import drawn_board
from tests.doubles.hostile_boards import hostile_board

INDEX = index_board(drawn_board(FIRST_ROWS + 5, 8, candidates=1))
RANKED = INDEX.ranked


def test_the_page_has_the_first_rows_and_the_file_has_all() -> None:
    page = render_leaderboard(INDEX, (), "../../", ["core"], "vega.js")
    table = page.split('id="standings"')[1].split("</table>")[0]
    assert table.count("<th scope=row" if "<th scope=row" in table else '<th scope="row"') == FIRST_ROWS
    assert f"The first {FIRST_ROWS} of {len(RANKED)} systems" in page
    rows = json.loads(render_rows(INDEX))["rows"]
    keys = [key for key, _ in page_columns(RANKED)]
    assert len(rows) == len(RANKED)
    assert [row["values"][keys.index("system")] for row in rows] == [row.submission for row in RANKED]


def test_the_cells_of_the_file_are_those_of_the_page_with_other_addresses() -> None:
    page = render_leaderboard(INDEX, (), "../../", ["core"], "vega.js")
    shown = [place for place, (_, cell) in enumerate(page_columns(RANKED)) if cell.shown]
    for row in json.loads(render_rows(INDEX))["rows"][:FIRST_ROWS]:
        cells = "".join(row["cells"][place] for place in shown)
        assert cells.replace('href="./', 'href="../../board/core/') in page


def test_all_systems_are_on_the_plain_page() -> None:
    page = render_all_systems(INDEX)
    assert re.findall(r'href="\.\./submissions/([^"/]+)/"', page) == [row.submission for row in RANKED]


def test_hostile_text_in_the_facts_of_a_table_closes_no_script() -> None:
    index = index_board(hostile_board())
    text = str(table_facts(index.ranked))
    assert not set("<>&") & set(text)
    facts = json.loads(text)
    authors = next(facet for facet in facts["facets"] if facet["key"] == "author")
    assert all(name.isprintable() for name, _ in authors["choices"])


def test_hostile_text_in_the_rows_is_escaped() -> None:
    for row in json.loads(render_rows(index_board(hostile_board())))["rows"]:
        cells = "".join(row["cells"])
        assert not re.search(r"<(script|img|iframe|svg|base|style|h1)\b", cells)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e\u2066]", cells)


def test_facets_count_systems() -> None:
    facets = {facet["key"]: dict(facet["choices"]) for facet in json.loads(str(table_facts(RANKED)))["facets"]}
    assert sum(facets["weights"].values()) == sum(facets["size"].values()) == len(RANKED)
    assert facets["weights"]["open"] == sum(row.open_weights for row in RANKED)
    assert list(facets["size"])[-1] == "unknown"


@pytest.mark.parametrize(
    ("billions", "name"),
    [
        (0.6, "≤ 3 B"),
        (3, "≤ 3 B"),
        (7, "3–10 B"),
        (32, "10–40 B"),
        (70, "40–100 B"),
        (405, "> 100 B"),
        (None, "unknown"),
    ],
)
def test_a_size_has_a_class(billions: float | None, name: str) -> None:
    parameters = None if billions is None else int(billions * 1e9)
    assert size_class(RANKED[0].model_copy(update={"parameters": parameters})) == name


def test_a_column_that_is_the_same_in_all_rows_is_left_out() -> None:
    keys = {key for key, _ in page_columns(RANKED)}
    assert "asked" not in keys
    assert {"rank", "system", "accuracy", "delta", "group", "cost", "latency-median", "tokens", "added"} <= keys
    free = [row.model_copy(update={"usd_per_task": None}) for row in RANKED]
    assert "cost" not in {key for key, _ in page_columns(free)}


def test_no_system_on_the_frontier_is_inferior() -> None:
    costs = {row.submission: float(number % 7 + 1) for number, row in enumerate(RANKED)}
    best = frontier(RANKED, costs)
    assert best
    for one in best:
        assert not [
            row
            for row in RANKED
            if (costs[row.submission], -row.accuracy) != (costs[one.submission], -one.accuracy)
            and costs[row.submission] <= costs[one.submission]
            and row.accuracy >= one.accuracy
        ]


def test_the_difference_to_the_leader_says_only_what_was_tested() -> None:
    """The first system of the second group was compared with the leader. Of later ones, only the group is known."""
    ranked = index_board(drawn_board(6, 80, candidates=1)).ranked
    view = BoardView.of(ranked, None)
    texts = {row.submission: (view.difference(row) or ("", ""))[1] for row in ranked}
    groups = {number: [texts[row.submission] for row in ranked if row.tie_group == number] for number in (1, 2, 3)}
    assert groups[1] == ["", *["not significant"] * view.tied]
    assert groups[2][0] == "significant"
    assert {*groups[2][1:], *groups[3]} == {"lower group"}
