"""The reader of commands gives the same results as the NLC2CMD reference program of 2020."""

from __future__ import annotations

import pytest

from evaluator.shell.nlc2cmd.grammar_2020 import grammar_2020, option_table_2020
from evaluator.shell.nlc2cmd.reference_2020 import UnsupportedCommandError, parse_like_reference
from evaluator.shell.nlc2cmd.typo_fixes import fix_typos


def outline(command: str) -> str:
    """Return the utilities of a command with their flags on one line."""
    return " / ".join(" ".join([name, *flags]) for name, flags in parse_like_reference(command))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls -la | wc -l", "ls -l -a / wc -l"),
        ("find . -name a -o -name b", "find -name -name"),
        ("find . \\( ! -name a \\) -prune -print", "find -name -print"),
        ("find . -exec grep -l x {} + -print", "find -exec::+ -l -print / grep -l"),
        ("find . -exec rm {}", "find -exec::; / rm"),
        ("find / -EXdsx -name a", "find -E -X -d -s -x -name"),
        ("find . -fprintf f '%p' -ls", "find -fprintf -ls"),
        ("xargs -0 rm -f", "xargs -0 -I -f / rm -f"),
        ("xargs -I {} mv {} d", "xargs -I / mv"),
        ("xargs", "xargs"),
        ("egrep -E x", "grep -E"),
        ("fgrep -n x", "grep -F -n"),
        ("grep --color -n x f", "grep --color"),
        ("uniq -D -f 1", "uniq -D"),
        ('cut "-d " -f1', "cut -f"),
        ("head -5 f", "head -"),
        ("head - 3", "head -"),
        ("tar xvf a", "tar -x -v -f"),
        ("gunzip -c a|tar xvf -", "gunzip -c / tar"),
        ("sudo ls", "ls"),
        ("$ ls", "ls"),
        ("ls \\", "ls"),
        ("ls &", "ls"),
        ("ls -- -l", "ls"),
        ("echo `date -u`", "echo -u / date -u"),
        ("echo $X`date`", "echo"),
        ("cat a | LC_ALL=C tr -d b | wc", "cat / wc"),
        ("X=$(date -u) ls", "date -u"),
        ("$(which ls) -l", "which"),
        ("diff <(ls a) b", "diff / ls"),
        ("bash -c 'ls -l'", "bash -c -l / ls -l"),
        ("ssh host 'ls -l'", "ssh -l / ls -l"),
        ('ssh host "ls $x"', "ssh"),
        ("pwd > f", "pwd"),
        ("find . -regex-type sed -regex x", "find -regextype -regex"),
        ("touch -d$x f", "touch -d"),
        ("$EDITOR f | wc", "wc"),
    ],
)
def test_utilities_and_flags_are_those_their_program_saw(command: str, expected: str) -> None:
    """The reader returns the program's utilities and flags, with quirks such as repeated flags."""
    assert outline(command) == expected


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("foo", "unknown utility: foo"),
        ("/bin/ls", "unknown utility: /bin/ls"),
        ("ls > f", "unsupported: redirect"),
        ("foo; ls", "unknown utility: foo"),
        ("ls; ls", "unsupported: list"),
        ("ls && ls", "unsupported: list"),
        ("for i in a; do ls; done", "unsupported: compound"),
        ("(ls)", "unsupported: compound"),
        ("ls | while read x; do ls; done", "unsupported: list"),
        ("ls | (ls)", "stage of a pipeline: compound"),
        ("X=1 ls", "calls nothing"),
        ("echo $((1+1))", "bashlex: "),
        ("time ls", "bashlex: "),
        ("tar --null -x", "unknown option: --null"),
        ("ls -lE", "unknown option: -E"),
        ("pwd --logical=x", "unexpected value: --logical=x"),
        ("ps aux", "unmatched: aux"),
        ("set -o", "incomplete"),
        ("sh -c 'ls | wc'", "a command in quotes that is not simple"),
        ("sh -c 'mv \"$1\" a'", "a command in quotes that is not simple"),
        ("su -cls", "a command attached to -c"),
        ("split --filter=wc f", "unexpected value: --filter=wc"),
        ("xargs -0I {} ls {}", "unknown utility: {}"),
        ("xargs -I x", "xargs -I without a placeholder or a command"),
        ("", "bashlex: "),
    ],
)
def test_their_program_gives_up_with_a_reason(command: str, why: str) -> None:
    """A command outside the grammar of the program or of bashlex is refused with a reason."""
    with pytest.raises(UnsupportedCommandError) as refused:
        parse_like_reference(command)
    assert str(refused.value).startswith(why)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sudo /usr/bin/find . -dev", "find . -xdev"),
        ("tar xf a", "tar -xf a"),
        ("xargs -i{} rm '{}'", "xargs -I {} rm {}"),
        ("find . \u2013name \u201ca\u201d", 'find . -name "a"'),
        ("$find . -prin", "find . -print"),
        ("ls\n-l ", "ls -l"),
    ],
)
def test_typing_errors_are_mended_as_theirs(before: str, after: str) -> None:
    """The reader fixes typing errors in a command as the program does."""
    assert fix_typos(before) == after


def test_a_refused_command_has_the_flags_they_would_have_seen() -> None:
    """The option table for refused commands has the same letters as the program's grammar.

    Only utilities that run a command have more letters, because these tell where the command begins.
    """
    for name, grammar in grammar_2020().items():
        options = option_table_2020()[name]
        letters = {flag[1] for flag in grammar.flags if len(flag) == 2}
        known = {*options.flags, *options.values, *options.attached, *options.script}
        assert known == letters or (known > letters and (options.runs is not None or options.script)), name
