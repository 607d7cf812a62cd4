"""Charts in which each system is a point: accuracy against cost, latency, size, text similarity, and over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, Literal

import altair as alt

from evaluator.leaderboard import standing_values as values
from evaluator.leaderboard.chart_style import (
    ACCENT,
    FALLBACK_WIDTH,
    INK,
    METHODS,
    SHAPES,
    UNIT,
    Chart,
    chart_names,
    percent_axis,
    shortened,
    styled,
)
from evaluator.leaderboard.html_text import plain_text
from evaluator.records import Standing

MAX_POINTS: Final = 300
"""Number of systems in a chart of points: those on the frontier, then the best. The table has all."""
MAX_LABELS: Final = 12
"""Number of systems on the frontier that have their name beside their point, the most accurate ones."""

TRADE_OFFS: Final[Mapping[str, tuple[str, str]]] = {
    "cost": ("cost", "US dollars per 1,000 tasks"),
    "latency": ("latency", "median latency in seconds"),
    "size": ("size", "parameters in billions"),
}
"""The label of each trade-off chart, and the title of its axis."""

_HEIGHT: Final = 360
_LETTER: Final = 6.5
"""Width of a letter of a label, in pixels."""
_LINE: Final = 13
"""Height of a label, in pixels."""
_NARROW: Final = 600
"""Width of a narrow chart, in pixels. Labels that do not overlap in it do not overlap in a wider one."""
_EPOCH: Final = date(1970, 1, 1)


def costs_of(standings: Sequence[Standing], name: str) -> dict[str, float]:
    """Return the positive values of a trade-off by slug. A logarithmic axis has no place for the others."""
    found: dict[str, float | None]
    match name:
        case "cost":
            found = {row.submission: values.usd_per_thousand(row) for row in standings}
        case "latency":
            found = {row.submission: row.figures.latency_s for row in standings}
        case _:
            sizes = {row.submission: row.parameters for row in standings}
            found = {slug: None if size is None else size / values.BILLION for slug, size in sizes.items()}
    return {slug: value for slug, value in found.items() if value}


def trade_off_chart(standings: Sequence[Standing], name: str) -> Chart:
    """Draw execution accuracy against a cost on a logarithmic axis, with the frontier as a line.

    `name` is one of TRADE_OFFS. Systems without a positive value are left out.
    """
    costs = costs_of(standings, name)
    best = values.frontier(standings, costs)
    rows = selected([row for row in standings if row.submission in costs], best)
    names = dict(zip((row.submission for row in rows), chart_names(rows), strict=True))
    labels = _labels(best, {slug: math.log(cost) for slug, cost in costs.items()})
    title = TRADE_OFFS[name][1]
    points = [_point(row, names[row.submission]) | {"x": costs[row.submission]} for row in rows]
    line = [
        {
            "x": costs[row.submission],
            "accuracy": round(row.accuracy, 6),
            **labels[row.submission],
        }
        for row in best
    ]
    x = alt.X("x:Q", title=title, scale=alt.Scale(type="log", nice=True, padding=12), axis=alt.Axis(tickCount=6))
    return _with_line(_points(points, x, alt.Tooltip("x:Q", title=title, format=",.3~g")), line, x)


def progress_chart(standings: Sequence[Standing], name: str) -> Chart:
    """Draw each system on the day it was added or released, and the best accuracy until each day as a step line.

    `name` is `added` or `released`. Systems without this day are left out.
    """
    days = days_of(standings, name)
    best = records_by_day(standings, days)
    rows = selected([row for row in standings if row.submission in days], best)
    names = dict(zip((row.submission for row in rows), chart_names(rows), strict=True))
    points = [
        _point(row, names[row.submission]) | {"x": _time(day), "day": day.isoformat()}
        for row in rows
        for day in [days[row.submission]]
    ]
    labels = _labels(best, {slug: float(_time(day)) for slug, day in days.items()})
    line: list[dict[str, Any]] = [
        {"x": _time(days[row.submission]), "accuracy": round(row.accuracy, 6), **labels[row.submission]} for row in best
    ]
    if best:
        last = {"x": _time(max(days.values())), "accuracy": line[-1]["accuracy"], "label": "", "left": True}
        line.append(last)
    title = f"day on which the system was {name}" if name == "added" else "day on which the model was released"
    x = alt.X("x:T", title=title, scale=alt.Scale(type="utc", padding=12), axis=alt.Axis(tickCount=6, format="%b %Y"))
    return _with_line(_points(points, x, alt.Tooltip("day:N")), line, x, step=True)


def days_of(standings: Sequence[Standing], name: str) -> dict[str, date]:
    """Return the day of each system by slug. `name` is `added` or `released`."""
    found = {row.submission: row.added if name == "added" else row.released for row in standings}
    return {slug: day for slug, day in found.items() if day is not None}


def records_by_day(standings: Sequence[Standing], days: Mapping[str, date]) -> list[Standing]:
    """Return the systems that were better than all earlier ones on their day, from the first day to the last."""
    return values.frontier(standings, {slug: day.toordinal() for slug, day in days.items()})


def selected(rows: Sequence[Standing], always: Sequence[Standing]) -> list[Standing]:
    """Return at most MAX_POINTS systems in board order: those of `always`, and the best of the others."""
    kept = {row.submission for row in always[-MAX_POINTS:]}
    for row in rows:
        if len(kept) >= MAX_POINTS:
            break
        kept.add(row.submission)
    return [row for row in rows if row.submission in kept]


def agreement_chart(standings: Sequence[Standing]) -> Chart:
    """Draw execution accuracy against the NLC2CMD score. Each system is a point. Shape and colour show the method."""
    rows = selected(standings, ())
    points = [
        _point(row, name) | {"nlc2cmd": round(row.nlc2cmd, 4)}
        for row, name in zip(rows, chart_names(rows), strict=True)
    ]
    x = alt.X("nlc2cmd:Q", title="NLC2CMD score", scale=alt.Scale(domain=[-1, 1]), axis=alt.Axis(tickCount=5))
    return styled(_points(points, x, alt.Tooltip("nlc2cmd:Q")).properties(width=FALLBACK_WIDTH, height=_HEIGHT))


def _labels(best: Sequence[Standing], across: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """Return the label of each system on a line, and whether it is to the left of its point.

    `across` maps the slugs of all points to positions on the horizontal axis. The most accurate systems have labels. A
    label that would overlap the label of a better system is empty.
    """
    first, last = min(across.values()), max(across.values())
    width = last - first or 1.0
    taken: list[tuple[float, float, float]] = []
    labels: dict[str, dict[str, Any]] = {}
    for row in reversed(best):
        text = shortened(plain_text(row.system), 24)
        place = (across[row.submission] - first) / width
        left = place > 0.5
        size = len(text) * _LETTER / _NARROW
        start, end = (place - size, place) if left else (place, place + size)
        free = all(
            end < other_start or other_end < start or abs(row.accuracy - height) * _HEIGHT > _LINE
            for other_start, other_end, height in taken
        )
        shown = free and len(taken) < MAX_LABELS
        if shown:
            taken.append((start, end, row.accuracy))
        labels[row.submission] = {"label": text if shown else "", "left": left}
    return labels


def _point(row: Standing, name: str) -> dict[str, Any]:
    return {"system": name, "method": row.method.value, "accuracy": round(row.accuracy, 6)}


def _points(points: Sequence[Mapping[str, Any]], x: alt.X, tooltip: alt.Tooltip) -> alt.Chart:
    """Return the points of a chart. Shape and colour show the method, with a legend of the methods present."""
    present = {point["method"] for point in points}
    methods = [name for name in METHODS if name in present]
    colours = [f"var(--board-method-{METHODS.index(name)})" for name in methods]
    shapes = [SHAPES[METHODS.index(name)] for name in methods]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=list(points)))
        .mark_point(size=90, filled=True, opacity=0.9)
        .encode(
            x=x,
            y=_accuracy_axis(),
            color=alt.Color("method:N", title="method", scale=alt.Scale(domain=methods, range=colours)),
            shape=alt.Shape("method:N", title="method", scale=alt.Scale(domain=methods, range=shapes)),
            tooltip=["system:N", "method:N", alt.Tooltip("accuracy:Q", format=".1%"), tooltip],
        )
    )
    return chart


def _time(day: date) -> int:
    """Return the start of a day in UTC, in milliseconds since 1970."""
    return (day - _EPOCH).days * 86_400_000


def _accuracy_axis() -> alt.Y:
    return alt.Y("accuracy:Q", title="execution accuracy", scale=UNIT, axis=percent_axis())


def _with_line(points: alt.Chart, line: Sequence[Mapping[str, Any]], x: alt.X, step: bool = False) -> Chart:
    """Return a chart of points with a line, and with names beside the points of the line."""
    base = alt.Chart(alt.InlineData(values=list(line))).encode(x=x, y=_accuracy_axis())
    interpolate: Literal["step-after", "linear"] = "step-after" if step else "linear"
    drawn = base.mark_line(color=ACCENT, strokeWidth=2, opacity=0.55, interpolate=interpolate)
    align = alt.ExprRef("datum.left ? 'right' : 'left'")
    text = base.mark_text(color=INK, fontSize=11, align=align, dy=-10).encode(text="label:N")
    return styled(alt.layer(drawn, points, text).properties(width=FALLBACK_WIDTH, height=_HEIGHT))
