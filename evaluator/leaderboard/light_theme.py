"""The colours of the site's light theme, for pictures that leave the site: charts, badges and cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LIGHT: Final[Mapping[str, str]] = {
    "paper": "#fcfbf8",
    "surface": "#f4f2ec",
    "ink": "#1b232b",
    "quiet": "#59636e",
    "line": "#e3dfd5",
    "accent": "#0c6661",
    "fail": "#97360a",
    "heat-0": "#f1eee6",
    "heat-1": "#d3e6e1",
    "heat-2": "#9ccbc3",
    "heat-3": "#2b7f78",
    "heat-4": "#0b524e",
    "heat-ink-low": "#1b232b",
    "heat-ink-high": "#ffffff",
    "method-0": "#0c6661",
    "method-1": "#b04e08",
    "method-2": "#5646ad",
    "method-3": "#a02468",
    "method-4": "#2f66b3",
    "method-5": "#59636e",
}
"""The colours of the light theme by the name of their custom property, as in `site/assets/board.css`."""


def light_rgb(name: str) -> tuple[int, int, int]:
    """Return a colour of the light theme as red, green and blue from 0 to 255."""
    red, green, blue = bytes.fromhex(LIGHT[name].removeprefix("#"))
    return red, green, blue
