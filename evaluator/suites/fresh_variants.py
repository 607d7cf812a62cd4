"""Give the worlds of a suite one more variant, with a seed that no contributor can know in advance.

The variant has the shape of the world's variant `fresh`, and names, values, dates and a clock of its own. So a command
that prints an output which it stored for the known variants prints a wrong output there.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from evaluator.records import WorldManifest
from evaluator.records.worlds import Variant
from evaluator.suites.load import Suite, SuiteWorld

FRESH: Final = "fresh"
"""The name of the variant."""

_SEED_BYTES: Final = 6
_FIRST_DAY, _DAYS = 30, 700
_FIRST_MINUTE, _MINUTES = 8 * 60, 9 * 60


def fresh_seed(origin: str, version: str) -> str:
    """Return the seed for a submission: the SHA-256 of its origin and of the suite's version.

    The origin is the commit with which the submission's last change was merged. No contributor knows it in advance.
    """
    return hashlib.sha256(f"{origin}\n{version}".encode()).hexdigest()


def has_fresh(suite: Suite) -> bool:
    """Return whether any world of the suite gets fresh variants."""
    return any(world.manifest.fresh is not None for world in suite.worlds.values())


def with_fresh_variants(suite: Suite, seed: str, name: str = FRESH) -> Suite:
    """Return a suite whose worlds have one more variant, the last one, drawn from `seed`.

    A task that lists its variants does not run in the new one. Worlds without `fresh` stay as they are.
    """
    worlds = {world.name: _with_fresh(world, seed, name, suite.manifest.clock) for world in suite.worlds.values()}
    return replace(suite, worlds=worlds)


def _with_fresh(world: SuiteWorld, seed: str, name: str, clock: datetime) -> SuiteWorld:
    manifest = world.manifest
    if manifest.fresh is None:
        return world
    digest = hashlib.sha256(f"{seed}\n{world.name}".encode()).digest()
    added = Variant(
        name=name,
        seed=int.from_bytes(digest[:_SEED_BYTES], "big"),
        like=manifest.fresh,
        clock=_clock(digest[_SEED_BYTES:], clock),
    )
    variants = (*manifest.variants, added)
    return replace(world, manifest=WorldManifest.model_validate({**dict(manifest), "variants": variants}))


def _clock(digest: bytes, clock: datetime) -> datetime:
    """Return a working hour in one of the two years that begin a month after the suite's clock."""
    day = _FIRST_DAY + int.from_bytes(digest[:4], "big") % _DAYS
    minute = _FIRST_MINUTE + int.from_bytes(digest[4:8], "big") % _MINUTES
    return clock.replace(hour=0, minute=0, second=0) + timedelta(days=day, minutes=minute)
