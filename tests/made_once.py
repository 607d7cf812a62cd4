"""A folder that one of the parallel processes makes for all of them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(folders: pytest.TempPathFactory, name: str, make: Callable[[], Path]) -> Path:
    """Return the folder that `make` returns. The first of the parallel processes calls `make`, and the others wait."""
    together = folders.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else folders.getbasetemp()
    with (together / f"{name}.place").open("a+") as place:
        fcntl.flock(place, fcntl.LOCK_EX)
        place.seek(0)
        if not (made := place.read()):
            made = str(make())
            place.write(made)
    return Path(made)
