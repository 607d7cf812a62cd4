"""Two spellings of one command are equal, and a near miss is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges.consensus.same_words import same_words

ONE = [
    ("ls -l a", "  ls   -l\t'a' "),
    ("find . -name '*.txt'", 'find . -name "*.txt"'),
    ("echo 'a b'c", "echo 'a bc'"),
    ("cat a|wc -l", "cat a | wc -l"),
    ("find . -size +1M", "find . -size +1M -print"),
    ("find -L . -empty -print", "find -L . -empty"),
    ("find . -type f | wc -l", "find . -type f -print | wc -l"),
]
TWO = [
    ("ls -l a", "ls -l b"),
    ("ls -la", "ls -l -a"),
    ("chmod 444 a", "chmod 644 a"),
    ("echo a b", "echo 'a b'"),
    ("echo a > b", "echo a b"),
    ("cat a | wc -l", "cat a || wc -l"),
    ("cat a '|' wc -l", "cat a | wc -l"),
    ("echo $HOME", "echo '$HOME'"),
    ("echo *", "echo '*'"),
    ("rm a; ls", "rm a ls"),
    ("A=1 env", "'A=1' env"),
    ("time ls", "'time' ls"),
    ("find . -print0", "find ."),
    ("find . -name -print", "find . -name"),
    ("find . -name a -o -name b -print", "find . -name a -o -name b"),
    ("find . -name a -exec rm {} + -print", "find . -name a -exec rm {} +"),
    ("find . -delete -print", "find . -delete"),
    ("finder . -print", "finder ."),
    ("", ""),
]


@pytest.mark.parametrize(("left", "right"), ONE)
def test_what_the_shell_reads_alike_is_one_command(left: str, right: str) -> None:
    assert same_words(left.encode(), right.encode())
    assert same_words(right.encode(), left.encode())


@pytest.mark.parametrize(("left", "right"), TWO)
def test_a_near_miss_has_other_words(left: str, right: str) -> None:
    assert not same_words(left.encode(), right.encode())


@given(st.lists(st.text(alphabet="ab-./1 '\"$", max_size=5), min_size=1, max_size=4))
def test_quoting_never_makes_two_words_one(words: list[str]) -> None:
    quoted = " ".join("'" + word.replace("'", "'\"'\"'") + "'" for word in ["x", *words])
    other = " ".join("'" + word.replace("'", "'\"'\"'") + "'" for word in ["x", *words, "y"])
    assert same_words(quoted.encode(), quoted.encode())
    assert not same_words(quoted.encode(), other.encode())
