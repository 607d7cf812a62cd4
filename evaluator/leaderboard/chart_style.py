"""The style of the board's charts: colours, fonts, axes and names.

Charts use custom properties of the style sheet as colours, not fixed values. The page contains each chart as SVG.
Therefore one drawing works in light and dark themes, on screen and on paper, with and without JavaScript. A downloaded
chart has no style sheet, so `with_light_colours` replaces the properties by the colours of the light theme.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

import altair as alt

from evaluator.leaderboard.html_text import plain_text
from evaluator.leaderboard.light_theme import LIGHT
from evaluator.records import Standing

MAX_ROWS: Final = 30
"""Number of systems that a chart lists by name. The table has all."""

Chart = alt.Chart | alt.LayerChart | alt.FacetChart

_NAME: Final = 34
FALLBACK_WIDTH: Final = 960
"""Width in pixels of a drawing if no script fits it to the page."""

INK, QUIET, LINE, ACCENT = "var(--board-ink)", "var(--board-quiet)", "var(--board-line)", "var(--board-accent)"
METHODS: Final = ("prompted", "fine-tuned", "agent", "retrieval", "rules", "other")
SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
UNIT: Final = alt.Scale(domain=[0, 1])
HEAT: Final = tuple(f"var(--board-heat-{step})" for step in range(5))

_PROPERTY: Final = re.compile(r"var\(--board-([a-z0-9-]+)\)")


def with_light_colours(text: str) -> str:
    """Return a drawing or its specification with fixed colours, for a program that does not have the style sheet."""
    return _PROPERTY.sub(lambda match: LIGHT.get(match[1], match[0]), text)


def percent_axis() -> alt.Axis:
    """Return the axis of a share, in per cent."""
    return alt.Axis(format="%", tickCount=6)


def chart_names(standings: Sequence[Standing]) -> list[str]:
    """Return a short name for each system. If several systems share it, append each submission's slug."""
    short = [shortened(plain_text(row.system)) for row in standings]
    shared = Counter(short)
    return [
        name if shared[name] == 1 else f"{name} ({row.submission})" for name, row in zip(short, standings, strict=True)
    ]


def shortened(name: str, length: int = _NAME) -> str:
    """Return a name, cut to `length` characters."""
    return name if len(name) <= length else f"{name[: length - 1]}…"


def styled(chart: Chart) -> Chart:
    """Return the chart with the fonts, colours and margins of the board."""
    axis = {
        "labelColor": INK,
        "titleColor": QUIET,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelPadding": 8,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
    }
    legend = {"labelColor": INK, "titleColor": QUIET, "titleFontWeight": "normal", "orient": "bottom"}
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
