"""Charts show the figures of the standings, in board order, with distinct names."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.leaderboard.chart_style import MAX_ROWS, Chart
from evaluator.leaderboard.charts import accuracy_chart, topic_chart
from evaluator.leaderboard.scatter_charts import agreement_chart
from evaluator.testing.boards import drawn_board
from tests.doubles.hostile_boards import hostile_board

BOARD = drawn_board(MAX_ROWS + 10, 8)


def rows_of(chart: Chart) -> list[dict[str, Any]]:
    """Return the one data set that all marks of a chart share."""
    (rows,) = chart.to_dict()["datasets"].values()
    return list(rows)


def test_intervals_are_those_of_the_first_standings() -> None:
    rows = rows_of(accuracy_chart(BOARD.standings))
    expected = [(row.accuracy_low, row.accuracy, row.accuracy_high) for row in BOARD.standings[:MAX_ROWS]]
    assert [(row["low"], row["accuracy"], row["high"]) for row in rows] == [
        pytest.approx(each, abs=1e-6) for each in expected
    ]


def test_every_system_is_a_point_against_nlc2cmd() -> None:
    rows = rows_of(agreement_chart(BOARD.standings))
    assert [row["nlc2cmd"] for row in rows] == [pytest.approx(row.nlc2cmd, abs=1e-4) for row in BOARD.standings]


def test_a_cell_is_a_topic_of_a_system() -> None:
    rows = rows_of(topic_chart(BOARD.standings))
    first = BOARD.standings[0]
    assert {row["topic"]: row["passed"] for row in rows[: len(first.topics)]} == {
        topic: tally.passed for topic, tally in first.topics.items()
    }
    assert len(rows) == MAX_ROWS * len(first.topics)


def test_systems_of_one_name_are_told_apart() -> None:
    twins = [row.model_copy(update={"system": "Same name"}) for row in BOARD.standings[:3]]
    names = [row["system"] for row in rows_of(accuracy_chart(twins))]
    assert names == [f"Same name ({row.submission})" for row in twins]


def test_names_hold_nothing_that_cannot_be_seen() -> None:
    names = [row["system"] for row in rows_of(agreement_chart(hostile_board().standings))]
    assert len(set(names)) == len(names)
    assert all(name.replace("…", "").isprintable() for name in names)


def test_colours_are_the_style_sheets() -> None:
    """Charts use the variables of the style sheet, because a fixed colour would not follow the light or dark scheme."""
    for chart in (accuracy_chart(BOARD.standings), agreement_chart(BOARD.standings), topic_chart(BOARD.standings)):
        text = chart.to_json()
        assert "var(--board-" in text
        assert '"#' not in text
