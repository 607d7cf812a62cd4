"""Define the accuracy of a fine-tuned submission beside its report on tasks that are nearly in its training data."""

from __future__ import annotations

from typing import Literal

from evaluator.records.edition_figures import ALL_TIERS
from evaluator.records.metrics import Share, Tally
from evaluator.records.record import Record
from evaluator.records.submissions import NearTasks
from evaluator.records.suites import Tier


class NearSlice(Record):
    """The near tasks of a suite or of one tier, as the authors report them, and the passed tasks of both parts.

    `others_low` and `others_high` are the bounds of the 95 % interval of the accuracy on the other tasks. The tallies
    and the bounds are None if they are not known.
    """

    tier: Literal["all"] | Tier = ALL_TIERS
    counts: NearTasks
    near: Tally | None = None
    others: Tally | None = None
    others_low: Share | None = None
    others_high: Share | None = None


class NearReport(Record):
    """A report for one suite: all tasks first, then the tiers. `missing` is the reason why no accuracy is known.

    `not-listed`: the report does not name the near tasks. `other-tasks`: it is about other tasks than those of the
    board. `no-verdicts`: a task of the submission has no verdict.
    """

    rows: tuple[NearSlice, ...]
    missing: Literal["not-listed", "other-tasks", "no-verdicts"] | None = None
