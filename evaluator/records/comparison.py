"""Define the record of a comparison of two submissions on the same tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, NonNegativeInt

from evaluator.records.metrics import ErrorClass, Share
from evaluator.records.record import Identifier, Record, Slug, VersionText
from evaluator.records.verdicts import Finding

Difference = Annotated[float, Field(ge=-1, le=1)]


class PairTally(Record):
    """The numbers of tasks that both submissions pass, that only one passes, and that neither passes."""

    both: NonNegativeInt = 0
    only_first: NonNegativeInt = 0
    only_second: NonNegativeInt = 0
    neither: NonNegativeInt = 0


class ErrorPair(Record):
    """The numbers of compared tasks that two submissions fail with an error of the same class."""

    first: NonNegativeInt = 0
    second: NonNegativeInt = 0


class TaskPair(Record):
    """A task that only one of two submissions passes, with the verdict on the first candidate of each submission."""

    task: Identifier
    topic: str
    first: Finding
    second: Finding


class SubmissionComparison(Record):
    """A comparison of two submissions on those tasks of a suite that have a verdict for both submissions.

    `left_out` counts the suite's other tasks. `difference` is the first submission's accuracy on the compared tasks
    minus the second submission's accuracy, with a 95 % interval for pairs (Newcombe's method 10). `p_value` is the
    exact p-value of McNemar's test. `utilities` counts a task once for every utility that the task's references call.
    `errors` counts the compared tasks that a submission does not pass, by error class. A class that neither submission
    has is left out. `tasks` lists the tasks that only one submission passes, in the suite's order.
    """

    suite: Slug
    suite_version: VersionText
    first: Slug
    second: Slug
    compared: NonNegativeInt
    left_out: NonNegativeInt
    counts: PairTally
    difference: Difference
    difference_low: Difference
    difference_high: Difference
    p_value: Share
    topics: Mapping[str, PairTally]
    utilities: Mapping[str, PairTally]
    errors: Mapping[ErrorClass, ErrorPair] = Field(default_factory=dict)
    tasks: tuple[TaskPair, ...]
