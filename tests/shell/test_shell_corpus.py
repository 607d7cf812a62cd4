"""Tests of the command readers against each other on NL2Bash, if that corpus is available.

Of its 12,607 commands, 99.7 % have the same utilities in order. The readers differ in these cases:

* bashlex reads the ` \\\\` before a blank as the start of a word (` egrep`). tree-sitter ignores it.
* In a command of `sh -c`, bashlex does not read `case` and `[[ ! … ]]`, and tree-sitter does not read `for i do`. The
  utilities inside are then missing.
* tree-sitter joins two substitutions in backquotes (`date` and `hostname` in a row) into one word. It also joins a
  single `$` and the word after it.
* tree-sitter drops all words after `xargs>` except the first, because it reads them as targets of the redirection.
* In `` a=`b`/`c` ``, the readers list the substitutions in a different order if there are quotes between them.
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
    """Of the commands that both parsers read, at least 99.6 % have the same utilities in order.

    At least 99.4 % of them have equal results.
    """
    chosen = commands(every)
    pairs = [(read(bashlex_reader.read_calls, each), read(treesitter_reader.read_calls, each)) for each in chosen]
    both = [(mine, theirs) for mine, theirs in pairs if mine is not None and theirs is not None]
    assert len(both) >= 0.985 * len(chosen)
    assert sum(mine == theirs for mine, theirs in both) >= 0.994 * len(both)
    assert sum(names(mine) == names(theirs) for mine, theirs in both) >= 0.996 * len(both)


@pytest.mark.parametrize("every", [EVERY, WHOLE])
def test_plain_commands_are_four_fifths_and_bashlex_reads_them_the_same(every: int) -> None:
    """At least 80 % of the commands are plain, and the fast path and bashlex read each of them in the same way."""
    chosen = commands(every)
    read_plain = [(each, calls) for each in chosen if (calls := fast_path.read_calls(each)) is not None]
    assert len(read_plain) >= 0.8 * len(chosen)
    assert [each for each, calls in read_plain if bashlex_reader.read_calls(each) != calls] == []


@pytest.mark.parametrize("every", [EVERY, WHOLE])
def test_what_was_refused_in_2020_is_read_with_the_same_eyes(every: int) -> None:
    """Our own reader agrees with the organisers' program on at least 99 % of the commands that this program reads."""
    readings = [(each, reading_of(each)) for each in commands(every)]
    accepted = [(each, reading) for each, reading in readings if reading.refused is None]
    equal = sum(
        [(name, {*flags}) for name, flags in read_tolerantly(each) or ()]
        == [(n, {*f}) for n, f in reading.called or ()]
        for each, reading in accepted
    )
    assert len(accepted) >= 0.8 * len(readings)
    assert equal >= 0.99 * len(accepted)
