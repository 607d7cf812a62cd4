"""The undisturbed run that every disturbed one is compared with."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import pytest

from evaluator.sandbox.image import SuiteImage
from tests.survival.small_runs import Checkout, small_checkout_of_core


class Undisturbed(NamedTuple):
    """A run from nothing that nobody disturbed: where, what it came to, how long it took, what is left of it."""

    checkout: Checkout
    standings: str
    verdicts: list[tuple[str, ...]]
    executed: int
    seconds: float
    files: frozenset[str]


@pytest.fixture(scope="session")
def undisturbed(image: SuiteImage, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """The image is made before, so that the run has only its own work."""
    root = tmp_path_factory.mktemp("undisturbed")
    small_checkout_of_core(root)
    checkout = Checkout(root)
    began = time.monotonic()
    ended = checkout.run("score", "--json")
    seconds = time.monotonic() - began
    assert ended.code == 0, ended.stderr
    assert checkout.run("standings", "--json") == (0, ended.stdout, "")
    files = frozenset(checkout.files())
    return Undisturbed(checkout, ended.stdout, checkout.verdicts(), checkout.executed(), seconds, files)


@pytest.fixture
def checkout(undisturbed: Undisturbed, tmp_path: Path) -> Checkout:
    """The same, with nothing executed."""
    return undisturbed.checkout.copied(tmp_path / "checkout")
