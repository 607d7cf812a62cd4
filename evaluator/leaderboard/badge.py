"""Badges of submissions: small pictures with the accuracy and the rank, for the README of a system.

Each badge is an SVG file, and a JSON file for services that draw badges (https://shields.io/badges/endpoint-badge). No
text of a submission is on a badge.
"""

from __future__ import annotations

import json
from typing import Final

from evaluator.leaderboard.board import BoardIndex
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.formats import percentage
from evaluator.leaderboard.light_theme import LIGHT
from evaluator.leaderboard.page_head import rank_text
from evaluator.records import Standing

_LETTER: Final = 6.7
"""The usual width of a letter in pixels. The drawing fits the text to the width that follows from it."""


def badge_label(index: BoardIndex) -> str:
    """Return the left text of a suite's badges."""
    return f"bashboard {index.board.name} {index.board.manifest.version}"


def badge_message(index: BoardIndex, standing: Standing) -> str:
    """Return the right text of a submission's badge."""
    return f"{percentage(standing.accuracy)} · {rank_text(standing, len(index.ranked))}"


def badge_svg(index: BoardIndex, standing: Standing) -> str:
    """Return a submission's badge as SVG."""
    label, message = badge_label(index), badge_message(index, standing)
    widths = [round(_LETTER * len(text)) for text in (label, message)]
    return (
        render("badge.svg", label=label, message=message, widths=widths, ink=LIGHT["ink"], colour=_colour(standing))
        + "\n"
    )


def badge_json(index: BoardIndex, standing: Standing) -> str:
    """Return a submission's badge in the endpoint schema of shields.io."""
    colour = _colour(standing).removeprefix("#")
    values = {"schemaVersion": 1, "label": badge_label(index), "message": badge_message(index, standing)}
    return json.dumps({**values, "color": colour}, ensure_ascii=False, sort_keys=True) + "\n"


def _colour(standing: Standing) -> str:
    return LIGHT["accent" if standing.ranked else "quiet"]
