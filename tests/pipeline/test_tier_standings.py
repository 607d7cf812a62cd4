"""Tests of the standings on each tier: the tasks of the tier alone decide, and only ranked systems have ranks."""

from __future__ import annotations

import polars as pl
import pytest

from evaluator.pipeline.boards.tier_standings import tier_standings
from evaluator.records import Tier

TIERS = {f"t{n}": Tier.EVERYDAY if n < 20 else Tier.EXPERT for n in range(40)}
PASSED = {"broad": range(40), "deep": range(20, 40), "plain": range(20), "control": range(40)}


@pytest.fixture
def passes() -> pl.DataFrame:
    """Return the passes of four systems on 20 everyday and 20 expert tasks."""
    rows = [(slug, task, int(task[1:]) in passed) for slug, passed in PASSED.items() for task in TIERS]
    return pl.DataFrame(rows, ["submission", "task", "passed"], orient="row")


def test_a_tier_is_ranked_by_its_own_tasks(passes: pl.DataFrame) -> None:
    """A system that passes all expert tasks shares the first group there, and is in the last one of the other tier."""
    found = tier_standings(passes, TIERS, {"broad", "deep", "plain"})
    groups = {slug: {tier: own.tie_group for tier, own in tiers.items()} for slug, tiers in found.items()}
    assert groups["broad"] == {"everyday": 1, "expert": 1}
    assert groups["deep"] == {"everyday": 2, "expert": 1}
    assert groups["plain"] == {"everyday": 1, "expert": 2}
    deep = found["deep"]["expert"]
    assert (deep.asked, deep.passed, deep.accuracy, deep.rank_low, deep.rank_high) == (20, 20, 1.0, 1, 1)
    assert 0.8 < deep.accuracy_low < deep.accuracy_high == 1.0
    assert found["plain"]["expert"].rank_low == 3


def test_a_system_without_a_rank_has_its_accuracy_alone(passes: pl.DataFrame) -> None:
    """A control has an accuracy on each tier, and takes no rank from the others."""
    control = tier_standings(passes, TIERS, {"broad", "deep", "plain"})["control"]["expert"]
    assert (control.accuracy, control.rank_low, control.rank_high, control.tie_group) == (1.0, None, None, None)


def test_a_suite_without_tiers_has_no_standings_by_tier(passes: pl.DataFrame) -> None:
    assert tier_standings(passes, {}, {"broad"}) == {}
