"""A page shows the charts that have data. Downloaded charts need no style sheet."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest

from evaluator.leaderboard.chart_groups import chart_files, draw_groups
from evaluator.leaderboard.chart_style import MAX_ROWS, with_light_colours
from evaluator.leaderboard.charts import accuracy_chart, half_length_chart
from evaluator.leaderboard.light_theme import LIGHT
from evaluator.leaderboard.scatter_charts import MAX_POINTS, progress_chart, records_by_day, selected, trade_off_chart
from evaluator.records import SubmissionMetrics
from evaluator.testing.boards import drawn_board

ROOT = Path(__file__).parents[2]
ROWS = drawn_board(MAX_ROWS + 2, 16, candidates=1).standings


def test_the_light_colours_are_those_of_the_style_sheet() -> None:
    """A downloaded chart has the colours that the page has in its light theme."""
    style = (ROOT / "site/assets/board.css").read_text()
    found = dict(re.findall(r"--board-([a-z0-9-]+): light-dark\((#[0-9a-f]{6}),", style))
    assert {name: found[name] for name in LIGHT} == LIGHT


def test_the_charts_are_in_the_order_of_what_readers_ask() -> None:
    groups = draw_groups(ROWS)
    assert [group.key for group in groups] == ["trade-off", "accuracy", "progress", "topics", "agreement"]
    assert [chart.name for chart in groups[0].charts] == ["cost", "latency", "size"]
    assert [chart.name for chart in groups[2].charts] == ["added", "released"]
    assert (groups[1].drawn, groups[1].total) == (MAX_ROWS, len(ROWS))


def test_a_downloaded_chart_has_fixed_colours() -> None:
    files = dict(chart_files(draw_groups(ROWS[:3])[0]))
    assert set(files) == {
        f"{name}.{kind}" for name in ("cost", "latency") for kind in ("json", "svg", "themed.json")
    } | {f"size.{kind}" for kind in ("json", "svg", "themed.json") if f"size.{kind}" in files}
    for name, text in files.items():
        assert ("var(--" in text) == name.endswith(".themed.json"), name
        assert "#" in text or name.endswith(".themed.json")


def test_a_name_that_looks_like_a_colour_breaks_no_download() -> None:
    assert with_light_colours("var(--board-none-such) var(--board-ink)") == "var(--board-none-such) #1b232b"


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({"usd_per_task": None}, "cost"),
        ({"parameters": None}, "size"),
        ({"added": None}, "added"),
        ({"released": None}, "released"),
        ({"added": date(2025, 1, 1)}, "added"),
        ({"topics": {}}, "topics"),
    ],
)
def test_a_chart_without_data_is_left_out(fields: dict[str, object], missing: str) -> None:
    rows = [row.model_copy(update=fields) for row in ROWS[:5]]
    assert missing not in {chart.name for group in draw_groups(rows) for chart in group.charts}


def test_a_board_without_undecided_tasks_has_no_empty_layer() -> None:
    """An empty group of marks has a role but no name, so a screen reader announces nothing."""
    rows = [row.model_copy(update={"accuracy_upper": row.accuracy}) for row in ROWS[:5]]
    undecided = [row.model_copy(update={"accuracy_upper": 1.0}) for row in rows]
    assert len(accuracy_chart(rows).to_dict()["layer"]) == len(accuracy_chart(undecided).to_dict()["layer"]) - 1


def test_without_ranked_systems_there_is_no_chart() -> None:
    assert draw_groups([]) == ()


def values_of(chart: object) -> list[list[dict[str, object]]]:
    return list(json.loads(chart.to_json())["datasets"].values())  # type: ignore[attr-defined]


def test_the_frontier_rises_with_cost() -> None:
    line = min(values_of(trade_off_chart(ROWS, "cost")), key=len)
    assert [point["x"] for point in line] == sorted(point["x"] for point in line)  # type: ignore[type-var]
    assert [point["accuracy"] for point in line] == sorted(point["accuracy"] for point in line)  # type: ignore[type-var]


def test_progress_is_the_best_accuracy_until_each_day() -> None:
    days = {row.submission: row.added for row in ROWS if row.added}
    best = records_by_day(ROWS, days)
    assert [row.accuracy for row in best] == sorted({row.accuracy for row in best})
    assert best[-1].accuracy == max(row.accuracy for row in ROWS)
    line = min(values_of(progress_chart(ROWS, "added")), key=len)
    assert [point["accuracy"] for point in line] == [
        *(round(row.accuracy, 6) for row in best),
        round(best[-1].accuracy, 6),
    ]


def test_a_large_chart_keeps_the_frontier() -> None:
    rows = [ROWS[0].model_copy(update={"submission": f"s-{number}"}) for number in range(2 * MAX_POINTS)]
    kept = selected(rows, rows[-3:])
    assert len(kept) == MAX_POINTS
    assert kept[-3:] == rows[-3:]


def test_a_group_has_a_band_and_its_number_once() -> None:
    (rows,) = values_of(accuracy_chart(ROWS))
    begins = [row["begins"] for row in rows if row["begins"]]
    assert begins == [f"group {number}" for number in range(1, len(begins) + 1)]


def test_the_half_length_is_in_minutes() -> None:
    figures = SubmissionMetrics(half_s=120.0, half_low_s=60.0)
    rows = [row.model_copy(update={"figures": figures}) for row in ROWS[:2]]
    (points,) = values_of(half_length_chart(rows))
    assert [(point["minutes"], point["low"], point["high"]) for point in points] == [(2.0, 1.0, 2.0)] * 2
    assert "half-length" in {group.key for group in draw_groups(rows)}
