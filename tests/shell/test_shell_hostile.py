"""Commands are untrusted, so no command may make a reader raise an error or take long."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.shell import utilities_of
from evaluator.shell.nlc2cmd.score import reading_of, score_pair
from tests.properties import examples

SIZE = 100_000
SYNTAX = st.text(alphabet="ab-{}()[]<>|&;$`'\"\\!#=*?+~/ \n\t0", max_size=60)
PIECES = """find . -exec {} \\; + xargs sh -c 'ls' nohup sudo env $(ls) `pwd` <(a) | && ; ( ) { } for in do done
if then fi case esac << EOF > -- - -n5 tar xf --x= a=b $x ${y} [[ ]] ! time"""
WORDS = st.lists(st.sampled_from(sorted(set(PIECES.split()))), max_size=25).map(" ".join)


@given(SYNTAX | WORDS | st.text(max_size=40) | st.binary(max_size=40))
@settings(max_examples=examples(300))
def test_no_text_raises(command: str | bytes) -> None:
    """Any text is read without an error, and the score of any text and a command lies in [-1, 1]."""
    utilities_of(command)
    assert -1 <= score_pair(command, "ls -l") <= 1
    assert -1 <= score_pair("ls -l", command) <= 1


UNITS = (
    "$(", "(", "{ ", "`", "'", '"', "<(", '"$(', "a=(", "$((", "${a:-", "cat <<a\n", "cat <<a <<b ", "a|", "a&&",
    "a;", "xargs ", "nohup ", "find . -exec ", "bash -c ", "if a;then ", "case a in ", "[[ a && ", "! ", ">b ",
    "f(){ ", "{a,", "\\", "\0", "\n", "&", "<", "$", ";;", "#", "-", "\u2014", "\ud800", "for a in b; do ",
)  # fmt: skip


@pytest.mark.parametrize("size", [1_000, 4_000, 16_000, SIZE])
def test_repeated_text_is_answered_quickly(size: int) -> None:
    """Text that attacks a parser's stack or running time is read in a few seconds of CPU time, without an error."""
    for unit in UNITS:
        command = unit * (size // len(unit))
        before = time.process_time()
        reading_of(command)
        utilities_of(command + "ls")
        assert time.process_time() - before < 10, unit


@pytest.mark.parametrize(("before", "after"), [("$(echo ", ")"), ("(", ")"), ("{ ", "; }"), ("sh -c 'ls ", "'")])
def test_deep_nesting_is_unreadable_or_read_but_never_an_error(before: str, after: str) -> None:
    """Balanced nesting a thousand levels deep raises no error."""
    utilities_of(before * 1000 + "ls" + after * 1000)


READ = """
import sys
from evaluator.shell import utilities_of
for text in sys.argv[1:]:
    utilities_of(text)
    print(ascii(text))
"""
UNENDED = ("echo a'${'", "echo 'a${' }", "echo \"$(echo a'${')\"", "a'-\"${;\"<\n'\n*aas'*|*1<", "x=a'${'$(ls)")


def test_an_expansion_without_an_end_is_not_looked_for_for_ever() -> None:
    """An expansion without a closing brace is read in finite time.

    bashlex also expands inside single quotes, and without a closing brace it parses the word again and again.
    """
    done = subprocess.run(
        [sys.executable, "-uc", READ, *UNENDED], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.splitlines() == [ascii(text) for text in UNENDED]


def test_a_command_with_nul_is_unreadable() -> None:
    """A command with a NUL character is unreadable, because no shell can run it."""
    assert utilities_of("ls\0-l") is None
