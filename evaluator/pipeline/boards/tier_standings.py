"""The standings on each tier of a suite: accuracy, rank range and tie group on the tasks of the tier alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import polars as pl

from evaluator.leaderboard.compute_standings import rank_ranges
from evaluator.metrics.accuracy import wilson_interval
from evaluator.metrics.paired import tie_groups
from evaluator.records import Tier, TierStanding


def tier_standings(
    passes: pl.DataFrame, tiers: Mapping[str, Tier], ranked: Collection[str], seed: int = 0
) -> dict[str, dict[str, TierStanding]]:
    """Return each submission's standing on each tier, by slug and tier.

    `passes` has the columns submission, task, passed. `tiers` maps tasks to tiers. Only the submissions in `ranked` get
    ranks and a tie group. They were asked all tasks. A suite without tiers gives no standings.
    """
    found: dict[str, dict[str, TierStanding]] = {}
    for tier in (tier for tier in Tier if tier in tiers.values()):
        tasks = [task for task, own in tiers.items() if own is tier]
        for slug, standing in _standings(passes.filter(pl.col("task").is_in(tasks)), ranked, seed).items():
            found.setdefault(slug, {})[tier.value] = standing
    return found


def _standings(passes: pl.DataFrame, ranked: Collection[str], seed: int) -> dict[str, TierStanding]:
    low, high = wilson_interval(pl.col("passed"), pl.col("asked"))
    counts = passes.group_by("submission").agg(pl.len().alias("asked"), pl.col("passed").sum())
    counts = counts.with_columns((pl.col("passed") / pl.col("asked")).alias("accuracy"))
    counts = counts.with_columns(low.alias("accuracy_low"), high.alias("accuracy_high"))
    rows = sorted(counts.iter_rows(named=True), key=lambda row: (-row["accuracy"], row["submission"]))
    order = [row["submission"] for row in rows if row["submission"] in ranked]
    groups = {tie.submission: tie.tie_group for tie in tie_groups(passes, order)}
    ranges = rank_ranges(passes.filter(pl.col("submission").is_in(order)), seed)
    standings = {}
    for row in rows:
        slug = row.pop("submission")
        best, worst = ranges.get(slug, (None, None))
        standings[slug] = TierStanding(**row, rank_low=best, rank_high=worst, tie_group=groups.get(slug))
    return standings
