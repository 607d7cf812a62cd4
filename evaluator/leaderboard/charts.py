"""The charts that have a row for each system. Each function returns an Altair chart.

System names come from submissions, so `plain_text` makes all their characters visible before a chart shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from evaluator.leaderboard.chart_style import (
    ACCENT,
    FALLBACK_WIDTH,
    HEAT,
    INK,
    MAX_ROWS,
    QUIET,
    SHAPES,
    UNIT,
    Chart,
    chart_names,
    percent_axis,
    styled,
)
from evaluator.leaderboard.formats import begins_group
from evaluator.leaderboard.held_back_errors import HeldBackErrors
from evaluator.leaderboard.horizon_part import time_source
from evaluator.leaderboard.html_text import plain_text
from evaluator.records import Standing

_INTERVAL: Final = ("accuracy", "low", "high", "upper")


def accuracy_chart(standings: Sequence[Standing]) -> Chart:
    """Draw execution accuracy with its 95 % interval. Each system has a row, in board order.

    A ring marks the upper bound, which counts every undecided task as passed. Every second tie group has a shade, and
    the first row of a group has its number.
    """
    order = chart_names(standings[:MAX_ROWS])
    rows = [_point(row, name) for row, name in zip(standings, order, strict=False)]
    data = alt.InlineData(values=rows)
    y = _system_axis(order)
    tooltip = ["system:N", "rank:N", "group:N", *(alt.Tooltip(f"{name}:Q", format=".1%") for name in _INTERVAL)]
    band = alt.Chart(data).mark_rect(color="var(--board-surface)").encode(y=y).transform_filter("datum.group % 2 === 1")
    label = alt.Chart(data).mark_text(color=QUIET, fontSize=11, align="right").encode(y=y, x=alt.value("width"))
    rule = alt.Chart(data).mark_rule(strokeWidth=5, strokeCap="round", color=ACCENT, opacity=0.3)
    ring = alt.Chart(data).mark_point(size=42, color=QUIET, strokeWidth=1.2, opacity=1)
    dot = alt.Chart(data).mark_point(size=64, color=ACCENT, filled=True, opacity=1)
    rings = ring.encode(y=y, x=_along("upper")).transform_filter("datum.upper > datum.accuracy")
    chart = alt.layer(
        band,
        rule.encode(y=y, x=_along("low"), x2="high:Q"),
        *([rings] if any(row["upper"] > row["accuracy"] for row in rows) else []),  # an empty layer has no name
        dot.encode(y=y, x=_along("accuracy"), tooltip=tooltip),
        label.encode(text="begins:N").transform_filter("datum.begins !== ''"),
    )
    return styled(chart.properties(width=FALLBACK_WIDTH, height=24 * len(order)))


def topic_chart(standings: Sequence[Standing]) -> Chart:
    """Draw execution accuracy by topic. Each pair of system and topic has a cell, in one of five colours."""
    order = chart_names(standings[:MAX_ROWS])
    data = alt.InlineData(values=_cells(standings, order))
    heat = alt.Scale(type="threshold", domain=[0.2, 0.4, 0.6, 0.8], range=list(HEAT))
    x = alt.X("topic:N", title=None, axis=alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False))
    y = _system_axis(order)
    base = alt.Chart(data).encode(x=x, y=y)
    ink = alt.when(alt.datum.accuracy >= 0.6).then(alt.value("var(--board-heat-ink-high)"))
    tooltip = ["system:N", "topic:N", "passed:Q", "asked:Q", alt.Tooltip("accuracy:Q", format=".1%")]
    cells = base.mark_rect(stroke="var(--board-paper)", strokeWidth=2, cornerRadius=3)
    text = base.mark_text(fontSize=11)
    chart = alt.layer(
        cells.encode(color=alt.Color("accuracy:Q", scale=heat, legend=None), tooltip=tooltip),
        text.encode(
            text=alt.Text("accuracy:Q", format=".0%"),
            color=ink.otherwise(alt.value("var(--board-heat-ink-low)")),
        ),
    )
    return styled(chart.properties(width=FALLBACK_WIDTH, height=26 * len(order)))


def has_horizon(standings: Sequence[Standing]) -> bool:
    """Return whether any system reports latencies. Without latencies, there is no time chart to draw."""
    return any(_whole_horizon(row) for row in standings)


def horizon_chart(standings: Sequence[Standing]) -> Chart:
    """Draw the share of tasks that each system passes within one, two and four times a person's time.

    Each system that reports latencies has a row, in board order. A bar marks the system's accuracy without a time
    limit.
    """
    timed = [(row, points) for row in standings if (points := _whole_horizon(row))][:MAX_ROWS]
    order = chart_names([row for row, _ in timed])
    values = [
        {
            "system": name,
            "time": f"{factor}×",
            "share": round(share, 6),
            "accuracy": round(row.accuracy, 6),
        }
        for (row, points), name in zip(timed, order, strict=True)
        for factor, share in sorted(points.items())
    ]
    factors = [f"{factor}×" for factor in sorted({factor for _, points in timed for factor in points})]
    y = _system_axis(order)
    words = f"passed within a person's time ({time_source(standings)}), share of the tasks asked"
    title = alt.X("share:Q", title=words, scale=UNIT)
    base = alt.Chart(alt.InlineData(values=values)).encode(y=y)
    tooltip = ["system:N", "time:N", *(alt.Tooltip(f"{name}:Q", format=".1%") for name in ("share", "accuracy"))]
    bar = base.mark_tick(color=QUIET, thickness=2, size=18).encode(x=alt.X("accuracy:Q", scale=UNIT))
    rule = base.mark_line(strokeWidth=2, color=ACCENT, opacity=0.4).encode(x=title, detail="system:N")
    shape = alt.Shape("time:N", title="person's time", scale=alt.Scale(domain=factors, range=list(SHAPES)))
    dot = base.mark_point(size=64, color=ACCENT, filled=True, opacity=1)
    chart = alt.layer(bar, rule, dot.encode(x=title.axis(percent_axis()), shape=shape, tooltip=tooltip))
    return styled(chart.properties(width=FALLBACK_WIDTH, height=24 * len(order)))


def half_length_rows(standings: Sequence[Standing]) -> list[Standing]:
    """Return the systems with a half length, in board order."""
    return [row for row in standings if row.figures.half_s is not None]


def half_length_chart(standings: Sequence[Standing]) -> Chart:
    """Draw the person's time at which each system passes half of the tasks, with its 95 % interval, in minutes.

    The axis is logarithmic. An interval without a bound ends at the end of the axis.
    """
    rows = half_length_rows(standings)[:MAX_ROWS]
    order = chart_names(rows)
    bounds = [
        bound
        for row in rows
        for bound in (row.figures.half_low_s, row.figures.half_s, row.figures.half_high_s)
        if bound is not None
    ]
    low, high = min(bounds) / 60, max(bounds) / 60
    values = [
        {
            "system": name,
            "minutes": _minutes(row.figures.half_s, low),
            "low": _minutes(row.figures.half_low_s, low),
            "high": _minutes(row.figures.half_high_s, high),
        }
        for row, name in zip(rows, order, strict=True)
    ]
    title = "minutes that a person takes for a task that the system passes half of the time"
    scale = alt.Scale(type="log", domain=[low / 1.1, high * 1.1])
    base = alt.Chart(alt.InlineData(values=values)).encode(y=_system_axis(order))
    x = {name: alt.X(f"{name}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6)) for name in ("low", "minutes")}
    tooltip = ["system:N", *(alt.Tooltip(f"{name}:Q", format=".3~g") for name in ("minutes", "low", "high"))]
    rule = base.mark_rule(strokeWidth=5, strokeCap="round", color=ACCENT, opacity=0.3).encode(x=x["low"], x2="high:Q")
    dot = base.mark_point(size=64, color=ACCENT, filled=True, opacity=1).encode(x=x["minutes"], tooltip=tooltip)
    return styled(alt.layer(rule, dot).properties(width=FALLBACK_WIDTH, height=24 * len(order)))


def _minutes(seconds: float | None, unbounded: float) -> float:
    """Return a time in minutes, or `unbounded` if there is none."""
    return round(unbounded if seconds is None else seconds / 60, 4)


def judges_chart(rows: Sequence[HeldBackErrors]) -> Chart:
    """Draw the errors of judges on labelled commands: false passes, false fails, and commands left undecided.

    Each judge has three bars. A bar's label has its counts.
    """
    names = [plain_text(row.judge) for row in rows]
    values = [
        {"judge": name, "what": what, "share": round(part / whole, 6), "counts": f"{part} of {whole}"}
        for row, name in zip(rows, names, strict=True)
        for what, part, whole in (
            ("false passes", row.false_passes, row.wrong),
            ("false fails", row.false_fails, row.right),
            ("undecided", row.undecided, row.all),
        )
        if whole
    ]
    kinds = ["false passes", "false fails", "undecided"]
    colours = ["var(--board-fail)", "var(--board-method-4)", "var(--board-quiet)"]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("judge:N", sort=names, title=None, axis=alt.Axis(domain=False, ticks=False)),
        yOffset=alt.YOffset("what:N", sort=kinds),
        x=alt.X("share:Q", title="share of the labelled commands", scale=UNIT, axis=percent_axis()),
    )
    colour = alt.Color("what:N", title=None, scale=alt.Scale(domain=kinds, range=colours))
    bars = base.mark_bar().encode(color=colour, tooltip=["judge:N", "what:N", "counts:N"])
    text = base.mark_text(align="left", dx=4, fontSize=10, color=INK).encode(text="counts:N")
    return styled(alt.layer(bars, text).properties(width=FALLBACK_WIDTH, height=44 * len(names)))


def _whole_horizon(standing: Standing) -> Mapping[int, float]:
    """Return the share of tasks that a system passes within each multiple of a person's time.

    The result is empty if the system reports no latency.
    """
    return next((part.within or {} for part in standing.figures.horizon if part.slice == "all"), {})


def _system_axis(names: Sequence[str]) -> alt.Y:
    """Return the axis of a chart that has one row per system.

    The space for the system names depends only on their lengths, because the reader's font is not known here.
    """
    room = 8 + 7 * max((len(name) for name in names), default=0)
    axis = alt.Axis(minExtent=room, labelLimit=room, domain=False, ticks=False)
    return alt.Y("system:N", sort=list(names), title=None, axis=axis, scale=alt.Scale(type="band", padding=0))


def _along(field: str) -> alt.X:
    return alt.X(f"{field}:Q", title="execution accuracy, 95 % interval", scale=UNIT, axis=percent_axis())


def _point(row: Standing, name: str) -> dict[str, Any]:
    rank = "unranked" if row.rank_low is None else f"{row.rank_low} to {row.rank_high}"
    return {
        "system": name,
        "rank": rank,
        "group": row.tie_group or 0,
        "begins": f"group {row.tie_group}" if row.tie_group and begins_group(row) else "",
        "accuracy": round(row.accuracy, 6),
        "low": round(row.accuracy_low, 6),
        "high": round(row.accuracy_high, 6),
        "upper": round(row.accuracy_upper, 6),
    }


def _cells(standings: Sequence[Standing], names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "system": name,
            "topic": topic,
            "passed": tally.passed,
            "asked": tally.asked,
            "accuracy": round(tally.passed / tally.asked, 6),
        }
        for row, name in zip(standings, names, strict=False)
        for topic, tally in sorted(row.topics.items())
        if tally.asked
    ]
