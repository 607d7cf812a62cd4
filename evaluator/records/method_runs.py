"""Define the record of the runs of one model with one method, which a board compares with its other methods."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evaluator.records.comparison import Difference
from evaluator.records.metrics import Share
from evaluator.records.record import Record, Slug
from evaluator.records.submissions import ShortText


class MethodRuns(Record):
    """The ranked submissions that are runs of one model with one method and the same parameters.

    `methods` is `baseline` alone, or the methods that add something to it. `submissions` has the order of the runs, and
    `declared` is the number of runs that each of them declares. `accuracy` is the mean over the runs with a 95 %
    interval over tasks. `lowest` and `highest` are the accuracies of single runs, and `deviation` is their sample
    standard deviation, which needs two runs.

    `difference` is the accuracy minus that of the model's baseline, paired by task, with a 95 % interval. `baseline` is
    the first run of this baseline. All four are None for a baseline, and for a model without one.
    """

    model: ShortText
    methods: Annotated[tuple[str, ...], Field(min_length=1)]
    submissions: Annotated[tuple[Slug, ...], Field(min_length=1)]
    declared: Annotated[int, Field(ge=1)] = 1
    accuracy: Share
    accuracy_low: Share
    accuracy_high: Share
    lowest: Share
    highest: Share
    deviation: Share | None = None
    baseline: Slug | None = None
    difference: Difference | None = None
    difference_low: Difference | None = None
    difference_high: Difference | None = None
