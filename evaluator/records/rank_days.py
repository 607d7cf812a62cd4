"""Define the record of a submission's rank on one day."""

from __future__ import annotations

from datetime import date

from pydantic import PositiveInt

from evaluator.records.record import Record


class RankDay(Record):
    """A submission's rank and tie group among the `systems` that were on a board at the end of a day.

    Systems that pass the same number of tasks share the better rank. `groups` is the number of tie groups.
    """

    day: date
    rank: PositiveInt
    tie_group: PositiveInt
    groups: PositiveInt
    systems: PositiveInt
