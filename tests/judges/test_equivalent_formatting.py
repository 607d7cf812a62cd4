"""An answer with another layout passes. A near miss fails, and so does another form if the task requires one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges import find_judge
from evaluator.judges.consensus.equivalent_formatting import FormatContext, is_equivalent_format
from evaluator.judges.consensus.nondeterministic import Position, Text
from evaluator.records import Outcome
from evaluator.testing.evidence import case, task

COUNT = "Print the number of words in notes.txt"
LIST = "Show what stands in the list"
USAGE = "Print disk usage of folders"
DF, DF_H = "Filesystem 1K-blocks Used Available Use% Mounted on", "Filesystem Size Used Avail Use% Mounted on"

ONE: dict[str, tuple[str, str, str]] = {
    "numbered by nl": (LIST, "b\n\nx y\na\n", "     1\tb\n       \n     2\tx y\n     3\ta\n"),
    "numbered by cat -n": (LIST, "b\n\nx y\na\n", "     1\tb\n     2\t\n     3\tx y\n     4\ta\n"),
    "numbered by grep -n": (LIST, "b\nx y\na\n", "1:b\n2:x y\n3:a\n"),
    "a sum below counts": (LIST, "1 a\n2 b\n", "1 a\n2 b\n3 total\n"),
    "a word of the question": (COUNT, "441\n", "441 words\n"),
    "its words and what joins them": (COUNT, "441\n", "Number of words: 441\n"),
    "without the file that is asked about": (COUNT, "441 notes.txt\n", "441\n"),
    "a path in front of it": (COUNT, "441 /home/me/notes.txt\n", "441\n"),
    "a relative path": (LIST, "/home/me/a/b\n/home/me/c\n", "a/b\nc\n"),
    "blocks and units": (USAGE, "80\t/srv\n1536\t/srv/a\n0\t/srv/b\n", "80K\t/srv\n1.5M\t/srv/a\n0\t/srv/b\n"),
    "df and df -h": (USAGE, f"{DF}\noverlay 131072 0 131072 0% /\n", f"{DF_H}\noverlay 128M 0 128M 0% /\n"),
}
NEAR_MISSES: dict[str, tuple[str, str, str]] = {
    "counted, not numbered": (LIST, "b\na\nc\n", "2 b\n1 a\n1 c\n"),
    "numbered from a longer file": (LIST, "b\na\nc\n", "1:b\n3:a\n4:c\n"),
    "another line among numbers": (LIST, "b\na\nc\n", "1 b\n2 a\n3 d\n"),
    "a line less among numbers": (LIST, "b\na\nc\nd\n", "1 b\n2 a\n3 c\n"),
    "two lines that count up": (LIST, "b\na\n", "1 b\n2 a\n"),
    "numbers that are asked for": (LIST, "1 b\n2 a\n3 c\n", "b\na\nc\n"),
    "a form that is asked for": ("Show the list without line numbers", "b\na\nc\n", "1 b\n2 a\n3 c\n"),
    "a sum that is none": (LIST, "1 a\n2 b\n", "1 a\n2 b\n4 total\n"),
    "a sum left out": (LIST, "1 a\n2 b\n3 total\n", "1 a\n2 b\n"),
    "another count below a right sum": (LIST, "1 a\n2 b\n", "2 a\n1 b\n3 total\n"),
    "another value beside a word": (COUNT, "441\n", "442 words\n"),
    "a word that is not the question's": (COUNT, "441\n", "441 lines\n"),
    "a value more": (COUNT, "441\n", "441 words 3\n"),
    "words alone": (COUNT, "441\n", "words\n"),
    "nothing but the name": (COUNT, "441 notes.txt\n", "notes.txt\n"),
    "another name": (COUNT, "441 notes.txt\n", "441 other.txt\n"),
    "a name that the question does not give": (COUNT, "441 other.txt\n", "441\n"),
    "a name that is the answer": ("Which of a.txt and b.txt has more words?", "441 a.txt\n", "441\n"),
    "only the name left out": ("Print the number of words in notes.txt and only that", "441 notes.txt\n", "441\n"),
    "another folder": (LIST, "/home/you/a\n", "a\n"),
    "the folder itself": (LIST, "/home/me\n", "me\n"),
    "a search from here": (LIST, "/home/me/a\n", "./a\n"),
    "a path that is asked for": ("Show the full path of each file", "/home/me/a\n", "a\n"),
    "another unit": (USAGE, "80 /srv\n", "80M /srv\n"),
    "rounded": (USAGE, "1500 /srv\n", "1.5M /srv\n"),
    "bytes rounded up": (USAGE, "4096 /srv\n", "4.0K /srv\n"),
    "another folder's amount": (USAGE, "80 /srv/a\n4 /srv/b\n", "4K /srv/a\n80K /srv/b\n"),
    "an amount less": (USAGE, "80 4 /srv/a\n", "80K /srv/a\n"),
    "an amount alone": (USAGE, "80\n", "80K\n"),
    "a unit that is asked for": ("Print disk usage in kilobytes", "80 /srv\n", "80K /srv\n"),
    "nothing": (LIST, "", "1 a\n2 b\n3 c\n"),
}


def is_one(words: str, reference: str, candidate: str) -> bool:
    return is_equivalent_format(text(candidate), text(reference), FormatContext(words, b"/home/me"))


def text(printed: str) -> Text:
    return Text(printed.encode(), printed)


@pytest.mark.parametrize(("words", "reference", "candidate"), ONE.values(), ids=ONE)
def test_two_presentations_are_one_answer(words: str, reference: str, candidate: str) -> None:
    assert is_one(words, reference, candidate)


@pytest.mark.parametrize(("words", "reference", "candidate"), NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_a_near_miss_is_another_answer(words: str, reference: str, candidate: str) -> None:
    assert not is_one(words, reference, candidate)


@pytest.mark.parametrize(("words", "reference", "candidate"), NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_a_near_miss_does_not_pass(words: str, reference: str, candidate: str) -> None:
    seen = case([reference] * 2, candidate, task("set", nl=words), cwd="/home/me")
    assert find_judge("consensus").judge(seen).outcome is not Outcome.PASS


def test_one_reference_must_be_it_in_every_variant() -> None:
    same, other = {"a": "441\n", "b": "7\n"}, {"a": "441 words\n", "b": "8 words\n"}
    assert find_judge("consensus").judge(case([same] * 2, other, task("set", nl=COUNT))).outcome is Outcome.FAIL


@pytest.mark.parametrize("mode", ["exact", "lines"])
def test_where_bytes_or_lines_are_compared_nothing_is_layout(mode: str) -> None:
    seen = case(["441\n"] * 2, "441 words\n", task(mode, nl=COUNT))
    assert find_judge("consensus").judge(seen).outcome is Outcome.FAIL


def test_volatile_and_cut_texts_have_no_presentation() -> None:
    whole, asked = text("441\n"), FormatContext(COUNT, b"/")
    words = b"441 words\n"
    assert is_equivalent_format(Text(words, "x"), whole, asked)
    assert not is_equivalent_format(Text(words, "x", truncated=True), whole, asked)
    assert not is_equivalent_format(Text(words, "x", masked=frozenset({Position(0, 0)})), whole, asked)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=4), st.lists(st.integers(0, 99), min_size=1, max_size=4))
def test_other_numbers_are_never_the_same_answer(left: list[int], right: list[int]) -> None:
    reference, candidate = ("".join(f"{number} words\n" for number in each) for each in (left, right))
    assert is_one(LIST, reference, candidate) == (sorted(left) == sorted(right))
