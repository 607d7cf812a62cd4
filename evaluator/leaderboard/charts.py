"""The board's charts: each function returns an Altair chart, and the site builder writes it to a file.

Charts use custom properties of the style sheet as colours, not fixed values. The page contains each chart as SVG.
Therefore one drawing works in light and dark themes, on screen and on paper, with and without JavaScript. System names
come from submissions, so `plain_text` makes all their characters visible before a chart shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from evaluator.leaderboard.horizon_part import time_source
from evaluator.leaderboard.html_text import plain_text
from evaluator.leaderboard.judges_page import HeldBackErrors
from evaluator.records import Standing

MAX_ROWS: Final = 30
"""Number of systems that a chart lists by name. The table has all."""

Chart = alt.Chart | alt.LayerChart | alt.FacetChart

_NAME: Final = 34
_WIDTH: Final = 960
"""Width in pixels of a drawing if no script fits it to the page."""

_INK, _QUIET, _LINE, _ACCENT = "var(--board-ink)", "var(--board-quiet)", "var(--board-line)", "var(--board-accent)"
_METHODS: Final = ("prompted", "fine-tuned", "agent", "retrieval", "rules", "other")
_SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_INTERVAL: Final = ("accuracy", "low", "high", "upper")
_UNIT: Final = alt.Scale(domain=[0, 1])
_HEAT: Final = tuple(f"var(--board-heat-{step})" for step in range(5))


def accuracy_chart(standings: Sequence[Standing]) -> Chart:
    """Draw execution accuracy with its 95 % interval. Each system has a row, in board order.

    A ring marks the upper bound, which counts every undecided task as passed.
    """
    order = _names(standings[:MAX_ROWS])
    data = alt.InlineData(values=[_point(row, name) for row, name in zip(standings, order, strict=False)])
    y = _system_axis(order)
    tooltip = ["system:N", "rank:N", *(alt.Tooltip(f"{name}:Q", format=".1%") for name in _INTERVAL)]
    rule = alt.Chart(data).mark_rule(strokeWidth=5, strokeCap="round", color=_ACCENT, opacity=0.3)
    ring = alt.Chart(data).mark_point(size=42, color=_QUIET, strokeWidth=1.2, opacity=1)
    dot = alt.Chart(data).mark_point(size=64, color=_ACCENT, filled=True, opacity=1)
    chart = alt.layer(
        rule.encode(y=y, x=_along("low"), x2="high:Q"),
        ring.encode(y=y, x=_along("upper")).transform_filter("datum.upper > datum.accuracy"),
        dot.encode(y=y, x=_along("accuracy"), tooltip=tooltip),
    )
    return _styled(chart.properties(width=_WIDTH, height=24 * len(order)))


def agreement_chart(standings: Sequence[Standing]) -> Chart:
    """Draw execution accuracy against the NLC2CMD score. Each system is a point. Shape and colour show the method."""
    names = _names(standings)
    data = alt.InlineData(values=[_point(row, name) for row, name in zip(standings, names, strict=True)])
    present = {row.method.value for row in standings}
    methods = [name for name in _METHODS if name in present]
    colours = [f"var(--board-method-{_METHODS.index(name)})" for name in methods]
    shapes = [_SHAPES[_METHODS.index(name)] for name in methods]
    chart = alt.Chart(data).mark_point(size=90, filled=True, opacity=0.9)
    return _styled(
        chart.encode(
            x=alt.X("nlc2cmd:Q", title="NLC2CMD score", scale=alt.Scale(domain=[-1, 1]), axis=alt.Axis(tickCount=5)),
            y=alt.Y("accuracy:Q", title="execution accuracy", scale=_UNIT, axis=_percent_axis()),
            color=alt.Color("method:N", title="method", scale=alt.Scale(domain=methods, range=colours)),
            shape=alt.Shape("method:N", title="method", scale=alt.Scale(domain=methods, range=shapes)),
            tooltip=["system:N", "method:N", alt.Tooltip("accuracy:Q", format=".1%"), "nlc2cmd:Q"],
        ).properties(width=_WIDTH, height=340)
    )


def topic_chart(standings: Sequence[Standing]) -> Chart:
    """Draw execution accuracy by topic. Each pair of system and topic has a cell, in one of five colours."""
    order = _names(standings[:MAX_ROWS])
    data = alt.InlineData(values=_cells(standings, order))
    heat = alt.Scale(type="threshold", domain=[0.2, 0.4, 0.6, 0.8], range=list(_HEAT))
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
    return _styled(chart.properties(width=_WIDTH, height=26 * len(order)))


def has_horizon(standings: Sequence[Standing]) -> bool:
    """Return whether any system reports latencies. Without latencies, there is no time chart to draw."""
    return any(_whole_horizon(row) for row in standings)


def horizon_chart(standings: Sequence[Standing]) -> Chart:
    """Draw the share of tasks that each system passes within one, two and four times a person's time.

    Each system that reports latencies has a row, in board order. A bar marks the system's accuracy without a time
    limit.
    """
    timed = [(row, points) for row in standings if (points := _whole_horizon(row))][:MAX_ROWS]
    order = _names([row for row, _ in timed])
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
    title = alt.X("share:Q", title=words, scale=_UNIT)
    base = alt.Chart(alt.InlineData(values=values)).encode(y=y)
    tooltip = ["system:N", "time:N", *(alt.Tooltip(f"{name}:Q", format=".1%") for name in ("share", "accuracy"))]
    bar = base.mark_tick(color=_QUIET, thickness=2, size=18).encode(x=alt.X("accuracy:Q", scale=_UNIT))
    rule = base.mark_line(strokeWidth=2, color=_ACCENT, opacity=0.4).encode(x=title, detail="system:N")
    shape = alt.Shape("time:N", title="person's time", scale=alt.Scale(domain=factors, range=list(_SHAPES)))
    dot = base.mark_point(size=64, color=_ACCENT, filled=True, opacity=1)
    chart = alt.layer(bar, rule, dot.encode(x=title.axis(_percent_axis()), shape=shape, tooltip=tooltip))
    return _styled(chart.properties(width=_WIDTH, height=24 * len(order)))


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
    colours = ["var(--board-fail)", "var(--board-method-4)", "var(--board-method-5)"]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("judge:N", sort=names, title=None, axis=alt.Axis(domain=False, ticks=False)),
        yOffset=alt.YOffset("what:N", sort=kinds),
        x=alt.X("share:Q", title="share of the labelled commands", scale=_UNIT, axis=_percent_axis()),
    )
    colour = alt.Color("what:N", title=None, scale=alt.Scale(domain=kinds, range=colours))
    bars = base.mark_bar().encode(color=colour, tooltip=["judge:N", "what:N", "counts:N"])
    text = base.mark_text(align="left", dx=4, fontSize=10, color=_INK).encode(text="counts:N")
    return _styled(alt.layer(bars, text).properties(width=_WIDTH, height=44 * len(names)))


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
    return alt.Y("system:N", sort=list(names), title=None, axis=axis)


def _along(field: str) -> alt.X:
    return alt.X(f"{field}:Q", title="execution accuracy, 95 % interval", scale=_UNIT, axis=_percent_axis())


def _percent_axis() -> alt.Axis:
    return alt.Axis(format="%", tickCount=6)


def _names(standings: Sequence[Standing]) -> list[str]:
    """Return a short name for each system. If several systems share it, append each submission's slug."""
    short = [_shortened(plain_text(row.system)) for row in standings]
    shared = Counter(short)
    return [
        name if shared[name] == 1 else f"{name} ({row.submission})" for name, row in zip(short, standings, strict=True)
    ]


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def _point(row: Standing, name: str) -> dict[str, Any]:
    rank = "unranked" if row.rank_low is None else f"{row.rank_low} to {row.rank_high}"
    return {
        "system": name,
        "rank": rank,
        "method": row.method.value,
        "accuracy": round(row.accuracy, 6),
        "low": round(row.accuracy_low, 6),
        "high": round(row.accuracy_high, 6),
        "upper": round(row.accuracy_upper, 6),
        "nlc2cmd": round(row.nlc2cmd, 4),
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


def _styled(chart: Chart) -> Chart:
    axis = {
        "labelColor": _INK,
        "titleColor": _QUIET,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelPadding": 8,
        "gridColor": _LINE,
        "domainColor": _LINE,
        "tickColor": _LINE,
    }
    legend = {"labelColor": _INK, "titleColor": _QUIET, "titleFontWeight": "normal", "orient": "bottom"}
    config = {
        "background": "transparent",
        "padding": {"left": 16, "right": 16, "top": 4, "bottom": 4},
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": axis,
        "legend": legend,
    }
    styled: Chart = chart.properties(config=config, autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
    return styled
