"""The submissions that a maintainer keeps off every board."""

from __future__ import annotations

from typing import Literal

from evaluator.records.record import Record, Slug


class Quarantined(Record):
    """`submissions/quarantine.json`: the slugs of the submissions that are neither executed nor shown."""

    format: Literal[1]
    submissions: tuple[Slug, ...]
