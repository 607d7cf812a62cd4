"""From a results frame to standings: the figures, who is ranked, who is tied with whom, and what the board tells
apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from evaluator.leaderboard.compute_standings import ranked_order, standings
from evaluator.metrics.accuracy import accuracy_by_topic, passes
from evaluator.metrics.judge_error import JudgeError
from evaluator.metrics.paired import resolution, tie_groups
from evaluator.metrics.summary import summary
from evaluator.records import Resolution, Standing, SubmissionManifest


class Ranking(NamedTuple):
    """A suite's standings, best first, and what so many tasks tell apart."""

    standings: tuple[Standing, ...] = ()
    resolution: Resolution | None = None


def rank_submissions(
    frame: pl.DataFrame,
    calls: pl.DataFrame,
    manifests: Mapping[str, SubmissionManifest],
    suite_version: str,
    tasks: int,
    error: JudgeError | None = None,
) -> Ranking:
    """The ranking of one suite of so many `tasks`, from a results frame and its `utilities_frame`.

    `error` is what was measured of the judge. The same rows in any order give the same ranking.
    """
    if frame.is_empty():
        return Ranking()
    scores, passed = summary(frame, calls, error), passes(frame)
    ties = tie_groups(passed, ranked_order(scores, manifests, tasks))
    fields = [tie._asdict() for tie in ties]
    rows = standings(scores, accuracy_by_topic(frame), passed, manifests, suite_version, tasks, fields)
    return Ranking(rows, resolution(ties, tasks))
