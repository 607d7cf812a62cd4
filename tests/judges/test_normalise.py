"""Every normaliser maps equivalent spellings to one and keeps near misses apart."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges.consensus.archive_effects import member_name
from evaluator.judges.consensus.normalise import (
    diagnostic,
    is_heading,
    row_fields,
    size_spelling,
    without_colour,
    without_dot_slash,
    without_final_slash,
    without_trailing_blanks,
)
from evaluator.judges.consensus.shell_effects import is_managed_by_bash
from evaluator.testing.evidence import folder, member

ONE: list[tuple[Callable[[bytes], bytes], bytes, bytes]] = [
    (without_colour, b"\x1b[01;34mdir\x1b[0m", b"dir"),
    (without_colour, b"\x1b[38:5:1mx\x1b[m\x1b[K", b"x"),
    (without_trailing_blanks, b"a \t", b"a"),
    (without_dot_slash, b"./x", b"x"),
    (without_dot_slash, b"./-rf", b"-rf"),
    (without_final_slash, b"a/d/", b"a/d"),
    (without_final_slash, b"a//", b"a"),
    (size_spelling, b"4.0K", b"4K"),
    (size_spelling, b"4KiB", b"4K"),
    (size_spelling, b"4Ki", b"4K"),
    (size_spelling, b"1.50M", b"1.5M"),
    (size_spelling, b"15.0GiB", b"15G"),
    (diagnostic, b"bash: line 7: x: not found ", b"bash: x: not found"),
]
NEAR_MISSES: list[tuple[Callable[[bytes], bytes], bytes, bytes]] = [
    (without_colour, b"\x1b[31mred\x1b[0m", b"\x1b[31mgreen\x1b[0m"),
    (without_colour, b"wrong\x1b[2Kright", b"wrongright"),
    (without_colour, b"wrong\x1b[5Dright", b"right"),
    (without_trailing_blanks, b"a\r", b"a"),
    (without_trailing_blanks, b" a", b"a"),
    (without_trailing_blanks, b"a\0", b"a"),
    (without_dot_slash, b"../x", b"x"),
    (without_dot_slash, b".x", b"x"),
    (without_dot_slash, b"a/./x", b"a/x"),
    (without_dot_slash, b"./", b""),
    (without_dot_slash, b"/x", b"x"),
    (without_final_slash, b"/", b""),
    (without_final_slash, b"a/b", b"ab"),
    (without_final_slash, b"/a", b"a"),
    (without_final_slash, b"a/.", b"a"),
    (size_spelling, b"4.0K", b"4.1K"),
    (size_spelling, b"4.0K", b"40K"),
    (size_spelling, b"4K", b"4M"),
    (size_spelling, b"4K", b"4096"),
    (size_spelling, b"4K", b"4k"),
    (size_spelling, b"4K", b"4KB"),
    (size_spelling, b"4K", b"4kB"),
    (size_spelling, b"12B", b"12"),
    (size_spelling, b"1.05K", b"1.5K"),
    (size_spelling, b"K", b"Ki"),
    (size_spelling, b"v4.0K", b"v4K"),
    (size_spelling, b"0x4G", b"0x4GiB"),
    (diagnostic, b"bash: line 7: x: not found", b"bash: line 7: y: not found"),
    (diagnostic, b"sh: line 7: x", b"bash: line 7: x"),
    (diagnostic, b"log: bash: line 7: x", b"log: bash: line 8: x"),
]


@pytest.mark.parametrize(("normalise", "written", "same"), ONE)
def test_two_spellings_are_one(normalise: Callable[[bytes], bytes], written: bytes, same: bytes) -> None:
    assert normalise(written) == normalise(same) == same


@pytest.mark.parametrize(("normalise", "right", "wrong"), NEAR_MISSES)
def test_a_near_miss_keeps_its_difference(normalise: Callable[[bytes], bytes], right: bytes, wrong: bytes) -> None:
    assert normalise(right) != normalise(wrong)


@given(st.integers(0, 10**6), st.integers(0, 99), st.integers(0, 10**6), st.integers(0, 99), st.sampled_from("KMGT"))
def test_another_size_stays_another_size(a: int, b: int, c: int, d: int, unit: str) -> None:
    left, right = f"{a}.{b:02}{unit}".encode(), f"{c}.{d:02}{unit}iB".encode()
    assert (size_spelling(left) == size_spelling(right)) == ((a, b) == (c, d))


@given(st.lists(st.text(alphabet="abc019./-_", min_size=1), max_size=6))
def test_plain_fields_survive_in_order(fields: list[str]) -> None:
    words = [word.encode() for word in fields]
    assert row_fields(b" ".join(words)) == [
        size_spelling(without_dot_slash(without_final_slash(word))) for word in words
    ]


LONG = b"-rw-r--r-- 1 root root 7 Mar 14 a"


@pytest.mark.parametrize(
    ("line", "following"), [(b"total 64", LONG), (b"total 4.0K", b"drwxr-xr-t+ 2 a"), (b"total 0", b"")]
)
def test_a_total_above_long_rows_is_a_heading(line: bytes, following: bytes) -> None:
    assert is_heading(line, following)


@pytest.mark.parametrize(
    ("line", "following"),
    [
        (b"total 64", b"a 64"),
        (b"total 64", b""),
        (b"total 64", None),
        (b" total 64", LONG),
        (b"64 total", LONG),
        (b"total 64 files", LONG),
        (b"total", LONG),
        (b"Total 64", LONG),
    ],
)
def test_a_total_that_a_task_asks_for_is_none(line: bytes, following: bytes | None) -> None:
    assert not is_heading(line, following)


@pytest.mark.parametrize(
    ("stored", "name"),
    [("./a", b"a"), ("././a", b"a"), (".//a", b"a"), ("a", b"a"), ("../a", b"../a"), ("/a", b"/a"), (".a", b".a")],
)
def test_a_members_name_loses_only_its_dot_slash(stored: str, name: bytes) -> None:
    assert member_name(member(stored)) == name


@pytest.mark.parametrize(("stored", "name"), [("./", b""), (".", b""), ("d/", b"d"), ("./d/", b"d"), ("..", b"..")])
def test_a_directorys_name_loses_also_the_slash_behind(stored: str, name: bytes) -> None:
    assert member_name(folder(stored)) == name


@pytest.mark.parametrize(
    "name", ["_", "BASH_COMMAND", "BASHOPTS", "SHLVL", "OLDPWD", "RANDOM", "EPOCHREALTIME", "REPLY"]
)
def test_what_bash_keeps_for_itself_is_left_out(name: str) -> None:
    assert is_managed_by_bash(name)


@pytest.mark.parametrize("name", ["PATH", "HOME", "IFS", "__", "RANDOMS", "MY_BASH_VERSION", "EPOCH", "PS1", "EDITOR"])
def test_what_a_task_may_ask_to_set_is_compared(name: str) -> None:
    assert not is_managed_by_bash(name)
