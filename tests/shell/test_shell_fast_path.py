"""Tests of the fast path, which reads plain commands as bashlex does, but without a parser."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.shell import bashlex_reader, fast_path
from evaluator.shell.syntax import UnreadableError
from tests.bashlex_calls import read_with_bashlex
from tests.properties import examples

SYNTAX = st.sampled_from(list("ab-='\"\\$|~/#!{}[]*?:;%^@+,0é`()&<> \t\n\u00a0"))
PIECES = (
    "ls",
    "--x=1",
    "${a}",
    "$1",
    "$$",
    "~/",
    "if",
    "in",
    "do",
    "time",
    "fi",
    "[[",
    "]]",
    "a=",
    "\\;",
    "'a'",
    '"b"',
    " ",
)
TEXTS = st.lists(SYNTAX | st.sampled_from(PIECES), min_size=1, max_size=10).map("".join)


def stages_of_bashlex(command: str) -> list[tuple[str, ...]]:
    """Return the words of each stage as bashlex splits them.

    Raise AssertionError if the command is not a plain pipeline.
    """
    (tree,) = bashlex_reader.parse_trees(command)
    calls = [part for part in tree.parts if part.kind != "pipe"] if tree.kind == "pipeline" else [tree]
    assert all(call.kind == "command" for call in calls)
    assert all(part.kind == "word" for call in calls for part in call.parts)
    for word in (part for call in calls for part in call.parts):
        source = command[slice(*word.pos)]
        assert fast_path.expansion(source) == (word.parts[0].kind if word.parts else "")
    return [tuple(command[slice(*part.pos)] for part in call.parts) for call in calls]


@given(TEXTS)
@settings(max_examples=examples(800))
def test_what_is_plain_bashlex_reads_the_same(command: str) -> None:
    """For any plain text, the fast path returns the same words, stages, expansions and calls as bashlex."""
    stages = fast_path.plain_stages(command)
    if stages is not None:
        assert stages_of_bashlex(command) == list(stages)
    calls = fast_path.read_calls(command)
    if calls is not None:
        assert read_with_bashlex(command) == calls


@given(TEXTS)
@settings(max_examples=examples(300))
def test_what_is_certainly_a_list_bashlex_reads_as_several_commands_or_not_at_all(command: str) -> None:
    """If the fast path finds a list, bashlex reads several commands or refuses the text.

    Therefore a text that may be a single command never counts as a list.
    """
    if fast_path.is_list(command):
        try:
            trees = bashlex_reader.parse_trees(command)
        except UnreadableError:
            return
        assert len(trees) > 1 or trees[0].kind == "compound" or len(trees[0].parts) > 2


@pytest.mark.parametrize(
    "command",
    ["ls", " ls -l\t| wc ", "find . -name '*.c' -exec rm {} \\;", "echo '$(date)'", 'cp $a "$b/c" ~/d', "grep 'a$' f"],
)
def test_everyday_commands_are_plain(command: str) -> None:
    """A command of words, quotes, pipes and parameters is read without a parser, and equals bashlex's result."""
    assert fast_path.read_calls(command) == read_with_bashlex(command)


@pytest.mark.parametrize(
    "command",
    ["ls > f", "a; b", "a && b || c &", "a >> f 2>&1 -n", "a <f | b &> 'g h'", "a\nb;\n"],
)
def test_several_plain_commands_are_one_after_the_other(command: str) -> None:
    """Lists and redirections to plain words are read without a parser, and equal bashlex's result."""
    assert fast_path.read_calls(command) == read_with_bashlex(command)


@pytest.mark.parametrize(
    "command",
    ["", "ls > f", "a; b", "a && b", "a || b", "a |& b", "a &", "(a)", "echo $(b)", "echo `b`", "A=1 b", "# a", "ls | ",
     "! a", "if a", "{ a; }", "[[ a ]]", "time a", "a 'b", "a\nb", "echo ${a%b}", "a <(b)", "ls a~b", "x'$a'", "a #b",
     "a -'<(b'", "a -\"<(b)\"", "a -\">(b\"", "a '<('\"b\""],
)  # fmt: skip
def test_whatever_else_goes_to_a_parser(command: str) -> None:
    """A text that could be read in several ways is not plain, so a parser reads it."""
    assert fast_path.plain_stages(command) is None
