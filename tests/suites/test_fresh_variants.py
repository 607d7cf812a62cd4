"""Tests of fresh variants: a seed decides a variant of each world completely, and another seed gives another one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from evaluator.pipeline.grading.cache_keys import worlds_of_suite
from evaluator.suites.fresh_variants import fresh_seed, has_fresh, with_fresh_variants
from evaluator.suites.load import Suite
from evaluator.testing.checkouts import small_suite, small_task

CLOCK = datetime(2025, 3, 14, 9, 30, tzinfo=UTC)


def suite_with(folder: Path, fresh: str | None) -> Suite:
    """Write a suite with two worlds. The world `other` has no fresh variants."""
    tasks = [small_task("files-1"), small_task("files-2", world="other")]
    return small_suite(folder, tasks, fresh={"world": fresh} if fresh else None)


def test_a_fresh_variant_is_like_the_named_one_with_another_seed_and_clock(tmp_path: Path) -> None:
    """The last variant has the shape of `fresh`. Its clock is a working hour within two years after the suite's."""
    suite = with_fresh_variants(suite_with(tmp_path, "two"), "a seed")
    *known, added = suite.worlds["world"].manifest.variants
    assert [variant.name for variant in known] == ["one", "two"]
    assert (added.name, added.like, added.contested) == ("fresh", "two", False)
    assert added.seed not in {variant.seed for variant in known}
    assert added.clock is not None
    assert timedelta(days=29) < added.clock - CLOCK < timedelta(days=731)
    world = worlds_of_suite(suite, "world", None)["fresh"]
    assert (world.variant, world.like, world.seed) == ("fresh", "two", added.seed)
    assert world.clock_s == int(added.clock.timestamp())


def test_a_world_without_fresh_stays_as_it_is(tmp_path: Path) -> None:
    """Only the worlds that name a variant for fresh ones get one."""
    suite = suite_with(tmp_path, "two")
    assert has_fresh(suite)
    assert with_fresh_variants(suite, "a seed").worlds["other"] == suite.worlds["other"]
    assert not has_fresh(suite_with(tmp_path / "none", None))


def test_the_clock_is_at_a_working_hour(tmp_path: Path) -> None:
    """No seed gives a clock outside of 8 to 17 o'clock, near midnight, where "today" would be ambiguous."""
    suite = suite_with(tmp_path, "one")
    clocks = [with_fresh_variants(suite, str(n)).worlds["world"].manifest.variants[-1].clock for n in range(200)]
    assert {clock.hour for clock in clocks if clock} == set(range(8, 17))
    assert len(set(clocks)) > 190


def test_equal_seeds_give_equal_variants_and_worlds_differ(tmp_path: Path) -> None:
    """The seed of a variant depends on the seed of the submission and on the world."""
    suite = small_suite(
        tmp_path, [small_task("files-1"), small_task("files-2", world="other")], fresh={"world": "one", "other": "one"}
    )
    first, again, second = (with_fresh_variants(suite, seed) for seed in ("a", "a", "b"))
    assert first == again
    seeds = {each.worlds[name].manifest.variants[-1].seed for each in (first, second) for name in ("world", "other")}
    assert len(seeds) == 4


def test_the_seed_depends_on_the_origin_and_on_the_version() -> None:
    """The seed is the SHA-256 of the origin and the suite's version, so anybody can compute it again."""
    seeds = {fresh_seed("a" * 40, "3.0.0"), fresh_seed("b" * 40, "3.0.0"), fresh_seed("a" * 40, "3.0.1")}
    assert len(seeds) == 3
    assert fresh_seed("a" * 40, "3.0.0") == "eaa1ac032a29098e120af4f6a81d5f92e2c94be04fba39bc661c5439affa4075"
