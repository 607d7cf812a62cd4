"""Tests of the command reader against Bash and bashlex, on our own commands and on recorded data if they are available.

bashlex and our parser differ in these cases of NL2Bash:

* bashlex does not read `case`, `[[ ]]` and arithmetic, and reads them as names of programs in the text of `sh -c`.
* bashlex expands `$(…)` in `$'…'`, and keeps backslashes in front of quotes in backquotes.
* bashlex misses a substitution between two texts in single quotes, and one in backquotes inside backquotes.
* bashlex removes quotes from the text of a process substitution.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from evaluator.shell import Call, bash_calls, fast_path, option_table, utilities_of
from evaluator.shell.nlc2cmd.score import read_tolerantly, reading_of
from evaluator.shell.syntax import UnreadableError
from evaluator.shell.utilities import CallReader, Utility, utilities_of_calls
from evaluator.suites.load import load_suite
from tests.bash_reader import complaints_of
from tests.bashlex_calls import read_with_bashlex

DATA = Path(os.environ.get("BASHBOARD_ORACLES", Path(__file__).parents[3] / "shared" / "data"))
CORPUS = DATA / "nl2bash" / "all.cm"
FIXTURES = Path(__file__).parents[2] / "fixtures"
needs_corpus = pytest.mark.skipif(
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


@needs_corpus
@pytest.mark.parametrize("every", [EVERY, WHOLE])
def test_the_parser_and_bashlex_agree_on_nl2bash(every: int) -> None:
    """Our parser reads every command that bashlex reads. At least 99.7 % have the same utilities in order.

    At least 99.3 % of them have equal results.
    """
    chosen = commands(every)
    pairs = [(read(bash_calls.read_calls, each), read(read_with_bashlex, each)) for each in chosen]
    both = [(mine, theirs) for mine, theirs in pairs if mine is not None and theirs is not None]
    assert len(both) >= 0.985 * len(chosen)
    assert sum(mine == theirs for mine, theirs in both) >= 0.993 * len(both)
    assert sum(names(mine) == names(theirs) for mine, theirs in both) >= 0.997 * len(both)


@needs_corpus
@pytest.mark.parametrize("every", [EVERY, WHOLE])
def test_plain_commands_are_four_fifths_and_every_reader_reads_them_the_same(every: int) -> None:
    """At least 80 % of the commands are plain. The fast path, bashlex and our parser read each of them equally."""
    chosen = commands(every)
    read_plain = [(each, calls) for each in chosen if (calls := fast_path.read_calls(each)) is not None]
    assert len(read_plain) >= 0.8 * len(chosen)
    assert [each for each, calls in read_plain if read_with_bashlex(each) != calls] == []
    assert [each for each, calls in read_plain if bash_calls.read_calls(each) != calls] == []


@needs_corpus
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


def unreadable(texts: Sequence[str]) -> list[str]:
    """Return the texts that Bash accepts with extended patterns, and that our reader does not read."""
    chosen = [text for text in dict.fromkeys(texts) if utilities_of(text) is None and "\0" not in text]
    extended = [f"shopt -s extglob\n{text}" for text in chosen]
    return [text for text, complaint in zip(chosen, complaints_of(extended), strict=True) if not complaint]


@pytest.mark.parametrize("suite", ["core", "programs"])
def test_every_reference_is_readable(suite: str) -> None:
    references = [each.decode() for task in load_suite(FIXTURES / suite).tasks for each in task.references]
    assert len(references) > 300
    assert [each for each in references if utilities_of(each) is None] == []


def test_every_training_pair_and_answer_of_this_repository_is_readable() -> None:
    pairs = [json.loads(line) for line in (FIXTURES / "train" / "pairs.jsonl").read_text().split("\n") if line]
    files = sorted((FIXTURES.parent / "submissions").glob("*/*.jsonl"))
    answers = [json.loads(line) for file in files for line in file.read_text().split("\n") if line]
    texts = [pair["command"] for pair in pairs]
    texts += [each["command"] for answer in answers for each in answer["candidates"]]
    assert len(texts) > 4000
    assert unreadable(texts) == []


@needs_corpus
@pytest.mark.parametrize("every", [EVERY, WHOLE])
def test_bash_accepts_no_recorded_command_that_we_cannot_read(every: int) -> None:
    """The data are NL2Bash, real answers of models, and the recorded output of the NLC2CMD program."""
    texts = commands(every)
    for file in sorted(DATA.glob("*_dev.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n")[::every]:
            row = json.loads(line or "{}")
            texts += [row[name] for name in ("command", "cmd", "pred", "ref") if isinstance(row.get(name), str)]
            texts += [*row.get("preds", ()), *row.get("refs", ())]
    assert len(texts) > 15_000 / every
    assert unreadable(texts) == []
