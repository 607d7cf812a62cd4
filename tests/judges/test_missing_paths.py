"""`missing_paths` finds the paths in "No such file or directory" by reading each line from its end."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from evaluator.judges.consensus.usable_references import missing_paths
from tests.properties import examples

PATTERN = re.compile(
    rb"(?:(?:'|\xe2\x80\x98)([^\n]+?)(?:'|\xe2\x80\x99)|: ([^\n:'\xe2]+)): No such file or directory$", re.MULTILINE
)
"""The same rule as one regular expression, whose time grows with the square of the number of quotes in a line."""

PARTS = [b"'", b"\xe2\x80\x98", b"\xe2\x80\x99", b":", b" ", b"a", b"\n", b"\xe2", b": No such file or directory"]


@example(b"cat: 'a b': No such file or directory\n")
@example(b"cat: '': No such file or directory\n")
@example(b"ls: cannot access \xe2\x80\x98a\xe2\x80\x99: No such file or directory")
@given(st.lists(st.sampled_from(PARTS), max_size=14).map(b"".join))
@settings(max_examples=examples(2000))
def test_the_paths_are_those_of_the_regular_expression(stderr: bytes) -> None:
    expected = [quoted or plain for quoted, plain in PATTERN.findall(stderr)]
    assert list(missing_paths(stderr)) == expected
