"""All attacks once more, in orders drawn by chance: what one leaves might only be felt by a certain other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import ModuleType

import pytest

from tests.attacks import Attack, Pits
from tests.hostile import test_exhaustion, test_kernel, test_reach, test_tampering, test_trees_of_traps

pytestmark = [pytest.mark.engine, pytest.mark.soak]

TABLES = (test_exhaustion, test_kernel, test_reach, test_tampering, test_trees_of_traps)


def attacks_of(modules: Sequence[ModuleType]) -> list[Attack]:
    """Every attack in the tables of these modules, and the calls, which are made from a table."""
    lists = [value for module in modules for value in vars(module).values() if isinstance(value, list)]
    listed = [each for values in lists for each in values if isinstance(each, Attack)]
    return [*listed, *(test_kernel.call(name) for name in test_kernel.CALLS)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_attacks_hold_in_any_order(pits: Pits, seed: int) -> None:
    """Canaries sing and containers are as they were, whatever came before."""
    attacks = attacks_of(TABLES)
    random.Random(seed).shuffle(attacks)  # noqa: S311 - an order, no secret
    outcomes = pits.repeat(attacks)
    assert {outcome.canary for outcome in outcomes} == {pits.all[0].canary}
    assert {outcome.container for outcome in outcomes} <= {pit.container for pit in pits.all}


def test_there_are_hundreds() -> None:
    """And none twice."""
    attacks = attacks_of(TABLES)
    assert len(set(attacks)) == len(attacks) >= 400
