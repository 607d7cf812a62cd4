"""The registry of the leaderboard's columns is complete, and each entry can be displayed."""

from __future__ import annotations

from collections import Counter
from io import StringIO

import pytest
from rich.console import Console

from evaluator.cli.tables import standings_table
from evaluator.leaderboard.columns import COLUMNS, columns_of, csv_fields
from evaluator.leaderboard.environment import ENVIRONMENT
from evaluator.records import Standing, SubmissionMetrics
from evaluator.testing.boards import drawn_board

ROWS = drawn_board(3, 8).standings
JSON_ONLY = {"figures.horizon", "figures.utilities"}


def test_every_field_of_the_record_is_in_the_csv_once() -> None:
    """A new field needs a column. Otherwise it would be missing from the download."""
    fields = {*Standing.model_fields, *(f"figures.{name}" for name in SubmissionMetrics.model_fields)} - {"figures"}
    assert Counter(field for column in COLUMNS for field in column.fields) == Counter(fields - JSON_ONLY)
    assert set(csv_fields()) == fields - JSON_ONLY


def test_every_cell_of_the_page_has_a_macro() -> None:
    """Only the system's cell has no macro, because it is a header that the table writes itself."""
    cells = ENVIRONMENT.get_template("leaderboard_cells.html").module
    macros = {column.page.macro for column in columns_of(ROWS) if column.page}
    assert [name for name in macros - {"system"} if not callable(getattr(cells, name, None))] == []


def test_no_two_columns_share_a_key_or_a_place_on_the_terminal() -> None:
    """Only topics share a position. They come after all other columns, in alphabetical order."""
    columns = list(columns_of(ROWS))
    assert len({column.key for column in columns}) == len(columns)
    places = [column.terminal.position for column in COLUMNS if column.terminal]
    topics = [column.terminal.position for column in columns if column.terminal and column not in COLUMNS]
    assert len(set(places)) == len(places)
    assert set(topics) == {max(places) + 1}


RANKED = ["rank", "submission", "accuracy"]
AT_80 = ["group", *RANKED, "95 % interval", "passed", "undecided", "NLC2CMD"]
FITTING = {
    30: RANKED,
    60: ["group", *RANKED, "95 % interval", "passed"],
    80: AT_80,
    100: [*AT_80, "by utility"],
    120: [*AT_80, "by utility"],
    150: [*AT_80, "by utility", "why there"],
}


@pytest.mark.parametrize("width", FITTING)
def test_a_narrow_terminal_shows_fewer_columns_and_every_cell_whole(width: int) -> None:
    board = drawn_board(12, 40)
    columns = board.terminal_columns(width)
    assert [cell.title for cell, _ in columns] == FITTING[width]
    out = StringIO()
    Console(file=out, width=width).print(standings_table(board, width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    for row, shown in zip(zip(*(texts for _, texts in columns), strict=True), lines[2:], strict=False):
        assert " ".join(shown.split()) == " ".join(" ".join(row).split())
