"""The two readers against each other on NL2Bash, where that corpus is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evaluator.shell import bashlex_reader, option_table, treesitter_reader
from evaluator.shell.syntax import UnreadableError
from evaluator.shell.utilities import Reading, Utility, utilities_of_calls

DATA = Path(os.environ.get("BASHBOARD_ORACLES", Path(__file__).parents[3] / "shared" / "data"))
CORPUS = DATA / "nl2bash" / "all.cm"


def read_all(commands: list[str], reading: Reading) -> list[tuple[Utility, ...] | None]:
    found: list[tuple[Utility, ...] | None] = []
    for command in commands:
        try:
            found.append(utilities_of_calls(reading.read(command), reading))
        except UnreadableError:
            found.append(None)
    return found


@pytest.mark.skipif(not CORPUS.exists(), reason="NL2Bash is not here: set BASHBOARD_ORACLES to a folder with it")
def test_the_readers_agree_on_nl2bash() -> None:
    """On what both read, at least 99.6 % have the same utilities in order and 99.4 % the same everything."""
    commands = CORPUS.read_text(encoding="utf-8").splitlines()
    mine = read_all(commands, Reading(bashlex_reader.read_calls, option_table()))
    theirs = read_all(commands, Reading(treesitter_reader.read_calls, option_table()))
    both = [(a, b) for a, b in zip(mine, theirs, strict=True) if a is not None and b is not None]
    assert len(both) >= 0.985 * len(commands)
    assert sum(a == b for a, b in both) >= 0.994 * len(both)
    assert sum(names(a) == names(b) for a, b in both) >= 0.996 * len(both)


def names(utilities: tuple[Utility, ...]) -> list[str]:
    return [nested.name for utility in utilities for nested in utility.walk()]
