"""All attacks again, in random orders, because one attack might affect only a particular later one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import ModuleType

import pytest

from tests.attacks import Attack, AttackWorkers
from tests.hostile import test_exhaustion, test_kernel, test_reach, test_tampering, test_trees_of_traps

pytestmark = [pytest.mark.engine, pytest.mark.soak]

TABLES = (test_exhaustion, test_kernel, test_reach, test_tampering, test_trees_of_traps)


def attacks_of(modules: Sequence[ModuleType]) -> list[Attack]:
    """Return every attack in the tables of these modules, and those that are made from the table of system calls."""
    lists = [value for module in modules for value in vars(module).values() if isinstance(value, list)]
    listed = [value for values in lists for value in values if isinstance(value, Attack)]
    return [*listed, *(test_kernel.call(name) for name in test_kernel.CALLS)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_attacks_hold_in_any_order(attack_workers: AttackWorkers, seed: int) -> None:
    """Canaries and containers are unchanged after every sequence of attacks."""
    attacks = attacks_of(TABLES)
    random.Random(seed).shuffle(attacks)  # noqa: S311 - an order, no secret
    outcomes = attack_workers.repeat(attacks)
    assert {outcome.canary for outcome in outcomes} == {attack_workers.all[0].canary}
    assert {outcome.container for outcome in outcomes} <= {worker.container for worker in attack_workers.all}


def test_there_are_hundreds() -> None:
    """No attack is listed twice."""
    attacks = attacks_of(TABLES)
    assert len(set(attacks)) == len(attacks) >= 400
