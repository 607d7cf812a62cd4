"""Statistics, filters and splits of corpora, on pairs that are made up here."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from evaluator.corpus.corpus_filter import filter_corpus
from evaluator.corpus.corpus_rules import EMPTY, NL2BASH, NOT_READ, OUT_OF_SCOPE, PLAIN, TOO_LONG
from evaluator.corpus.corpus_split import split_corpus
from evaluator.corpus.corpus_statistics import Distribution, corpus_statistics
from evaluator.corpus.pair_lines import CorpusPair, corpus_pair, read_folder, read_lines, written_lines
from evaluator.errors import FormatError, UsageError
from evaluator.shell.nlc2cmd.reference_2020 import tokens_like_reference
from evaluator.shell.nlc2cmd.tree_2020 import TokenKind


def pairs_of(*texts: tuple[str, str]) -> list[CorpusPair]:
    return [corpus_pair(nl, command) for nl, command in texts]


PAIRS = pairs_of(
    ("list the files", "ls -la"),
    ("list the files", "find . -type f"),
    ("count the lines of a.txt", "wc -l a.txt"),
    ("show a.txt", "cat a.txt"),
    ("print a.txt", "cat a.txt"),
)


def test_texts_tokens_and_pairs_per_side_are_counted() -> None:
    found = corpus_statistics(PAIRS, NL2BASH)
    assert (found.pairs, found.instructions, found.commands, found.unread) == (5, 4, 4, 0)
    assert (found.utilities, found.flags) == (4, 3)  # -l of ls and of wc is one flag
    assert found.tokens_per_command == Distribution(2.8, 3, 4)
    assert found.commands_per_utility == Distribution(1.25, 1, 2)
    assert found.commands_per_instruction == Distribution(1.25, 1, 2)
    assert found.instructions_per_command == Distribution(1.25, 1, 2)


def test_words_are_counted_as_in_the_paper() -> None:
    """Articles and pronouns are not counted, a quoted text is one word, and text in parentheses is left out."""
    assert NL2BASH.words("To print the file 'my notes' (and its size), 5 times") == [
        *("print", "file", "'my notes'", "5", "times"),
    ]
    assert NL2BASH.words("Find files/directories older than two days: all.") == [
        *("Find", "files", "and", "directories", "older", "than", "2", "days", "all"),
    ]


@pytest.mark.parametrize(
    ("command", "texts"),
    [
        ("ls -la *.c", ["ls", "-l", "-a", "*.c"]),
        ("find -name '*.c' -o -type d", ["find", ".", "-name", "'*.c'", "-or", "-type", "d"]),
        ("find . -exec grep -l x {} +", ["find", ".", "-exec", "grep", "-l", "x", "{}", "+"]),
        ("cat $(ls | head -5)", ["cat", "$(", "ls", "|", "head", "-", "5", ")"]),
        ("ls | xargs rm", ["ls", "|", "xargs", "-I", "{}", "rm", "{}"]),
        ("diff <(sort a) b", ["diff", "<(", "sort", "a", ")", "b"]),
        ("echo $HOME", ["echo", "$HOME"]),
    ],
)
def test_a_command_has_these_tokens(command: str, texts: list[str]) -> None:
    assert [token.text for token in tokens_like_reference(command)] == texts


def test_operators_are_reserved_tokens() -> None:
    kinds = {token.text: token.kind for token in tokens_like_reference(r"find . \( -name a \) | wc -l")}
    assert [text for text, kind in kinds.items() if kind is TokenKind.RESERVED] == ["\\(", "\\)", "|"]


def test_pairs_out_of_scope_are_left_out_with_the_reason() -> None:
    out = pairs_of(
        ("word " * 51, "ls"), ("redirect", "ls > a"), ("run a script", "awk '{print}' a"), ("", "ls"), ("none", "")
    )
    found = filter_corpus([*PAIRS, *out], NL2BASH)
    assert found.kept == PAIRS
    assert found.left_out == {NOT_READ: 1, TOO_LONG: 1, OUT_OF_SCOPE: 1, EMPTY: 2}


def test_only_the_most_frequent_utilities_are_in_scope_with_ties() -> None:
    names = ("ls", "cat", "wc", "cut", "du")
    rows = [*(("x", name) for name in names), ("x", "ls"), ("x", "cat"), ("x", "wc")]
    found = filter_corpus(pairs_of(*rows), NL2BASH._replace(top=2))
    assert found.utilities == {"ls", "cat", "wc"}
    assert found.left_out == {OUT_OF_SCOPE: 2}


def test_the_plain_rules_keep_every_pair_with_two_texts() -> None:
    unreadable = corpus_pair("never ends", "echo 'x")
    without_utility = corpus_pair("empty a.txt", "> a.txt")
    found = filter_corpus([*PAIRS, unreadable, without_utility, corpus_pair(" ", "ls"), corpus_pair("x", " ")], PLAIN)
    assert (found.kept, found.left_out) == ([*PAIRS, unreadable, without_utility], {EMPTY: 2})
    assert corpus_statistics([unreadable], PLAIN).unread == 1


def many_pairs(count: int = 600) -> list[CorpusPair]:
    """Pairs in which every third instruction has two commands, and every fifth command has two instructions."""
    rows = []
    for number in range(count):
        rows.append((f"print file {number}", f"cat file{number}"))
        if number % 3 == 0:
            rows.append((f"Print the file {number}", f"head -c 100M file{number}"))
        if number % 5 == 0:
            rows.append((f"show the text of {number}", f"cat file{number}"))
    return pairs_of(*rows)


def test_no_text_is_in_two_parts() -> None:
    pairs = many_pairs()
    found = split_corpus(pairs, NL2BASH)
    parts = [found.train, found.dev, found.test]
    assert sorted(pair.line for part in parts for pair in part) == sorted(pair.line for pair in pairs)
    for one, other in itertools.combinations(parts, 2):
        assert not {pair.command for pair in one} & {pair.command for pair in other}
        keys = [{" ".join(NL2BASH.words(pair.nl)).casefold() for pair in part} for part in (one, other)]
        assert not keys[0] & keys[1]


def test_the_parts_have_the_requested_sizes() -> None:
    pairs = many_pairs()
    found = split_corpus(pairs, NL2BASH)
    held_out = len(found.dev) + len(found.test)
    assert len(pairs) / 6 <= held_out < len(pairs) / 6 + 4
    assert 100 <= len(found.dev) < 104
    assert sum(found.clusters) == 600


def test_a_seed_determines_the_split_in_any_order_of_the_pairs() -> None:
    pairs = many_pairs()
    one, again = split_corpus(pairs, NL2BASH), split_corpus(pairs[::-1], NL2BASH)
    assert {pair.line for pair in one.dev} == {pair.line for pair in again.dev}
    assert split_corpus(pairs, NL2BASH, seed=2).dev != one.dev


def test_a_cluster_larger_than_the_other_parts_is_for_training() -> None:
    """One command with hundreds of instructions would otherwise be most of the tests."""
    same = pairs_of(*((f"ask {number} this way", "ls") for number in range(300)))
    for seed in range(5):
        assert split_corpus([*many_pairs(), *same], NL2BASH, seed=seed).train.count(same[0]) == 1


def test_a_line_keeps_its_other_fields() -> None:
    line = '{"nl": "list", "command": "ls", "source": "manual", "weight": 2}'
    (pair,) = read_lines([line.encode()], Path("x"))
    assert list(written_lines([pair])) == [f"{line}\n"]


def test_every_bad_line_is_reported_and_no_pair_is_returned() -> None:
    lines = [b'{"nl": "a", "command": "ls"}', b"{", b"[]", b'{"nl": "a"}', b'{"nl": 1, "command": "x"}', b"\xff"]
    lines += [b'{"nl": "\\ud800", "command": "x"}', b""]
    with pytest.raises(FormatError) as raised:
        read_lines(lines, Path("pairs.jsonl"))
    assert [problem.line for problem in raised.value.problems] == [2, 3, 4, 5, 6, 7]
    assert "expected a text in the field 'command', found nothing" in str(raised.value)
    assert "found the byte 0xff" in str(raised.value)
    assert "half of a surrogate pair" in str(raised.value)


def test_only_the_first_problems_are_listed() -> None:
    """A file without a valid line is probably another file, so less of it is listed."""
    valid = [b'{"nl": "a", "command": "ls"}']
    for first, listed, end in ((valid, 100, "50 more problems"), ([], 5, "145 more problems, and no line is valid")):
        with pytest.raises(FormatError) as raised:
            read_lines([*first, *[b"x"] * 150], Path("pairs.jsonl"))
        assert len(raised.value.problems) == listed + 1
        assert f"pairs.jsonl: {end}" in str(raised.value)


def test_parallel_files_are_read_from_a_clone(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "all.nl").write_text("list \nshow\n")
    (tmp_path / "data" / "all.cm").write_text("ls\ncat a\n")
    assert [(pair.nl, pair.command) for pair in read_folder(tmp_path)] == [("list", "ls"), ("show", "cat a")]


def test_half_a_corpus_is_refused(tmp_path: Path) -> None:
    (tmp_path / "all.nl").write_text("list\nshow\n")
    with pytest.raises(UsageError, match=r"all\.nl and all\.cm"):
        read_folder(tmp_path)
    (tmp_path / "all.cm").write_text("ls\n")
    with pytest.raises(FormatError, match=r"all\.cm:2: expected as many lines as all\.nl has, 2, found 1"):
        read_folder(tmp_path)
    (tmp_path / "all.cm").write_bytes(b"ls\nca\xfft\n")
    with pytest.raises(FormatError, match=r"all\.cm:2: expected UTF-8, found the byte 0xff"):
        read_folder(tmp_path)
