"""The charts of a leaderboard in the order of the page. A chart without data is left out.

A group is one question with one or several charts, such as accuracy against cost, latency and size. The page contains
the drawing of the first chart of a group.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import vl_convert
from markupsafe import Markup

from evaluator.leaderboard.chart_style import MAX_ROWS, Chart, with_light_colours
from evaluator.leaderboard.charts import (
    accuracy_chart,
    half_length_chart,
    half_length_rows,
    has_horizon,
    horizon_chart,
    judges_chart,
    topic_chart,
)
from evaluator.leaderboard.columns import topics_of
from evaluator.leaderboard.held_back_errors import most_pairs
from evaluator.leaderboard.scatter_charts import (
    MAX_POINTS,
    TRADE_OFFS,
    agreement_chart,
    costs_of,
    days_of,
    progress_chart,
    trade_off_chart,
)
from evaluator.records import Standing, Validation

VEGA_LITE: Final = "6.4"


@dataclass(frozen=True, slots=True)
class NamedChart:
    """A chart as a Vega-Lite specification. `name` is the name of its files, and `label` its axis in the page."""

    name: str
    label: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChartGroup:
    """The charts that answer one question. `drawing` is the SVG of the first.

    `drawn` and `total` count the systems in the first chart, and those that it could show.
    """

    key: str
    question: str
    charts: tuple[NamedChart, ...]
    drawing: Markup
    drawn: int
    total: int


def draw_groups(ranked: Sequence[Standing]) -> tuple[ChartGroup, ...]:
    """Return the groups of charts of a board with these ranked systems."""
    return tuple(_groups(ranked)) if ranked else ()


def _groups(ranked: Sequence[Standing]) -> Iterator[ChartGroup]:
    costs = {name: len(costs_of(ranked, name)) for name in TRADE_OFFS}
    costs = {name: systems for name, systems in costs.items() if systems > 1}
    if costs:
        yield _group(
            "trade-off",
            "What does accuracy cost?",
            [(name, TRADE_OFFS[name][0], trade_off_chart(ranked, name)) for name in costs],
            MAX_POINTS,
            max(costs.values()),
        )
    yield _single("accuracy", "How sure is the order?", accuracy_chart, ranked, ranked)
    if has_horizon(ranked):
        yield _single("horizon", "Who is quicker than a person?", horizon_chart, ranked, ranked)
    if len(timed := half_length_rows(ranked)) > 1:
        yield _single("half-length", "How long may a task be?", half_length_chart, ranked, timed)
    days = {name: days_of(ranked, name) for name in ("added", "released")}
    dated = [name for name, found in days.items() if len(set(found.values())) > 1]
    if dated:
        yield _group(
            "progress",
            "How fast is the field moving?",
            [(name, f"by the day {name}", progress_chart(ranked, name)) for name in dated],
            MAX_POINTS,
            len(days[dated[0]]),
        )
    if topics_of(ranked):
        yield _single("topics", "Who is good at what?", topic_chart, ranked, ranked)
    yield _group(
        "agreement",
        "Does text similarity agree?",
        [("agreement", "", agreement_chart(ranked))],
        MAX_POINTS,
        len(ranked),
    )


def draw_judges(validation: Validation) -> ChartGroup | None:
    """Return the chart of the errors of all judges on the suite with the most held-back pairs, if there are any."""
    rows = most_pairs(validation)
    if not rows:
        return None
    return _group(
        "judges", "How often does each judge err?", [("judges", "", judges_chart(rows))], len(rows), len(rows)
    )


def _single(
    key: str,
    question: str,
    draw: Callable[[Sequence[Standing]], Chart],
    ranked: Sequence[Standing],
    shown: Sequence[Standing],
) -> ChartGroup:
    """Return a group of one chart, which lists up to MAX_ROWS of the systems `shown`."""
    return _group(key, question, [(key, "", draw(ranked))], MAX_ROWS, len(shown))


def _group(key: str, question: str, charts: Sequence[tuple[str, str, Chart]], limit: int, total: int) -> ChartGroup:
    named = tuple(
        NamedChart(name, label, chart.properties(description=question).to_dict()) for name, label, chart in charts
    )
    drawing = Markup(_svg(named[0]))  # noqa: S704 - drawn here
    return ChartGroup(key, question, named, drawing, min(limit, total), total)


def _svg(chart: NamedChart) -> str:
    return str(vl_convert.vegalite_to_svg(chart.spec, vl_version=VEGA_LITE))


def chart_files(group: ChartGroup) -> Iterator[tuple[str, str]]:
    """Yield the names and contents of a group's files.

    Each chart has a drawing and a specification with the colours of the light theme, for other programs, and a
    specification with the colours of the style sheet (`.themed.json`), which the page draws.
    """
    for position, chart in enumerate(group.charts):
        spec = json.dumps(chart.spec, sort_keys=True, ensure_ascii=False) + "\n"
        yield f"{chart.name}.themed.json", spec
        yield f"{chart.name}.json", with_light_colours(spec)
        yield f"{chart.name}.svg", with_light_colours(str(group.drawing) if position == 0 else _svg(chart))
