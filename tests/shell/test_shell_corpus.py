"""The readers against each other on NL2Bash, where that corpus is at hand.

What they read differently, of 12,607 commands (99.7 % have the same utilities in order):

* bashlex takes the ` \\\\` before a blank for the beginning of a word (` egrep`), tree-sitter for nothing;
* bashlex does not read `case` and `[[ ! … ]]` in what `sh -c` runs, tree-sitter not `for i do`: one of them sees less;
* tree-sitter joins two substitutions in backquotes (`date` and `hostname` in a row) into one word, and a `$` alone with
  the word after it;
* tree-sitter drops the words after `xargs>` but the first, as targets of the redirection;
* in `` a=`b`/`c` `` they name the substitutions in another order where quotes stand between;
* bashlex expands `$(…)` in `$'…'`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.shell import Call, bashlex_reader, fast_path, option_table, treesitter_reader
from evaluator.shell.nlc2cmd.score import read_tolerantly, reading_of
from evaluator.shell.syntax import UnreadableError
from evaluator.shell.utilities import CallReader, Utility, utilities_of_calls

DATA = Path(os.environ.get("BASHBOARD_ORACLES", Path(__file__).parents[3] / "shared" / "data"))
CORPUS = DATA / "nl2bash" / "all.cm"
pytestmark = pytest.mark.skipif(
    not CORPUS.exists(), reason="NL2Bash is not here: set BASHBOARD_ORACLES to a folder with it"
)
WHOLE = pytest.param(1, marks=pytest.mark.soak)
EVERY = 5


def commands(every: int) -> list[str]:
    return CORPUS.read_text(encoding="utf-8").splitlines()[::every]


def read(reader: Callable[[str], tuple[Call, ...]], command: str) -> tuple[Utility, ...] | None:
    try:
        return utilities_of_calls(reader(command), CallReader(reader, option_table()))
    except UnreadableError:
        return None


def names(utilities: tuple[Utility, ...]) -> list[str]:
    return [nested.name for utility in utilities for nested in utility.walk()]


@pytest.mark.parametrize("every", [EVERY, WHOLE])
def test_the_parsers_agree_on_nl2bash(every: int) -> None:
    """Of the commands that both parsers read, at least 99.6 % have the same utilities in order and 99.4 % equal
    results."""
    chosen = commands(every)
    pairs = [(read(bashlex_reader.read_calls, each), read(treesitter_reader.read_calls, each)) for each in chosen]
    both = [(mine, theirs) for mine, theirs in pairs if mine is not None and theirs is not None]
    assert len(both) >= 0.985 * len(chosen)
    assert sum(mine == theirs for mine, theirs in both) >= 0.994 * len(both)
    assert sum(names(mine) == names(theirs) for mine, theirs in both) >= 0.996 * len(both)


@pytest.mark.parametrize("every", [EVERY, WHOLE])
def test_plain_commands_are_four_fifths_and_bashlex_reads_them_the_same(every: int) -> None:
    """The fast path and bashlex read every plain command in the same way."""
    chosen = commands(every)
    read_plain = [(each, calls) for each in chosen if (calls := fast_path.read_calls(each)) is not None]
    assert len(read_plain) >= 0.8 * len(chosen)
    assert [each for each, calls in read_plain if bashlex_reader.read_calls(each) != calls] == []


@pytest.mark.parametrize("every", [EVERY, WHOLE])
def test_what_was_refused_in_2020_is_read_with_the_same_eyes(every: int) -> None:
    """For commands that the organisers' program did read, our own reader agrees on at least 99 %."""
    readings = [(each, reading_of(each)) for each in commands(every)]
    accepted = [(each, reading) for each, reading in readings if reading.refused is None]
    equal = sum(
        [(name, {*flags}) for name, flags in read_tolerantly(each) or ()]
        == [(n, {*f}) for n, f in reading.called or ()]
        for each, reading in accepted
    )
    assert len(accepted) >= 0.8 * len(readings)
    assert equal >= 0.99 * len(accepted)
