"""A run without disturbances, with which the tests compare all disturbed runs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from evaluator.sandbox.image import SuiteImage
from tests.made_once import made_once
from tests.survival.small_runs import Checkout, small_checkout_of_core


class Undisturbed(NamedTuple):
    """A complete undisturbed run: its checkout, results, duration and files."""

    checkout: Checkout
    standings: str
    verdicts: list[tuple[str, ...]]
    executed: int
    seconds: float
    files: frozenset[str]


@pytest.fixture(scope="session")
def undisturbed(image: SuiteImage, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """A complete run of the command in a new checkout. The image exists already, so the run does not build it."""

    def run() -> Path:
        folder = tmp_path_factory.mktemp("undisturbed")
        small_checkout_of_core(folder / "checkout")
        checkout = Checkout(folder / "checkout")
        started = time.monotonic()
        result = checkout.run("score", "--json")
        (folder / "seconds").write_text(str(time.monotonic() - started))
        assert result.code == 0, result.stderr
        assert checkout.run("standings", "--json") == (0, result.stdout, "")
        (folder / "standings").write_text(result.stdout)
        # other processes of these tests open the store later, and SQLite then has files of its own beside it
        (folder / "files").write_text(json.dumps(sorted(checkout.files())))
        return folder

    folder = made_once(tmp_path_factory, "undisturbed", run)
    checkout = Checkout(folder / "checkout")
    standings, seconds = (folder / "standings").read_text(), float((folder / "seconds").read_text())
    files = frozenset(json.loads((folder / "files").read_text()))
    return Undisturbed(checkout, standings, checkout.verdicts(), checkout.executed(), seconds, files)


@pytest.fixture
def checkout(undisturbed: Undisturbed, tmp_path: Path) -> Checkout:
    """A copy of the checkout in which no command was executed."""
    return undisturbed.checkout.copied(tmp_path / "checkout")
