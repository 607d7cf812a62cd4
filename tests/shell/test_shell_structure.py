"""The structure of commands: utilities, flags, arguments and nesting."""

from __future__ import annotations

import pytest

from evaluator.shell import Flag, Utility, bashlex_reader, calls_of, option_table, treesitter_reader, utilities_of
from evaluator.shell.words import remove_quotes


def outline(command: str) -> list[tuple[str, list[str]]] | None:
    """Return the names and own flags of all utilities of a command, depth first."""
    utilities = utilities_of(command)
    if utilities is None:
        return None
    walk = [nested for utility in utilities for nested in utility.walk()]
    return [(utility.name, [flag.name for flag in utility.flags]) for utility in walk]


def test_a_flag_keeps_its_value_and_arguments_their_order() -> None:
    """A command is split into a name, flags with values, and arguments in their order."""
    assert utilities_of("sort -k2,2 -t : --reverse names.txt -u") == (
        Utility(
            "sort",
            (Flag("-k", "2,2"), Flag("-t", ":"), Flag("--reverse"), Flag("-u")),
            ("names.txt",),
        ),
    )


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls -la", [("ls", ["-l", "-a"])]),
        ("/bin/rm -f x", [("rm", ["-f"])]),
        ("head -5 f", [("head", ["-"])]),
        ("head -n5 f", [("head", ["-n"])]),
        ("kill -KILL 1", [("kill", ["-"])]),
        ("tar xvf a.tar", [("tar", ["-x", "-v", "-f"])]),
        ("echo -n -- -x", [("echo", ["-n"])]),
        ("grep -- -v f", [("grep", [])]),
        ("frobnicate -ab", [("frobnicate", ["-a", "-b"])]),
        ("find . \\( -name a -o -size +1 \\) -type f", [("find", ["-name", "-size", "-type"])]),
        ("find . -mtime -1 -print", [("find", ["-mtime", "-print"])]),
        ("ls | sort -r", [("ls", []), ("sort", ["-r"])]),
        ("cd a && ls; pwd", [("cd", []), ("ls", []), ("pwd", [])]),
        ("echo $(date -u) `pwd`", [("echo", []), ("date", ["-u"]), ("pwd", [])]),
        ("echo '$(date)'", [("echo", [])]),
        ("A='$(date)' ls", [("ls", [])]),
        ("diff <(ls a) <(ls b)", [("diff", []), ("ls", []), ("ls", [])]),
        ("X=$(date) ls", [("ls", []), ("date", [])]),
        ("X=$(date)", [("date", [])]),
        ("$(which ls) x", [("which", [])]),
        ("~/run.sh -v", [("~/run.sh", ["-v"])]),
        ("find . -exec grep -l x {} + -print", [("find", ["-exec", "-print"]), ("grep", ["-l"])]),
        ("xargs -0 -n1 rm -f", [("xargs", ["-0", "-n"]), ("rm", ["-f"])]),
        ("sh -c 'ls -l | wc'", [("sh", ["-c"]), ("ls", ["-l"]), ("wc", [])]),
        ("ssh host 'ls -l'", [("ssh", []), ("ls", ["-l"])]),
        ("rsync -a -e 'ssh -p 2' a b", [("rsync", ["-a", "-e"]), ("ssh", ["-p"])]),
        ("sudo -u bob timeout -k 1 5 ls -l", [("sudo", ["-u"]), ("timeout", ["-k"]), ("ls", ["-l"])]),
        ("env A=1 sort -n", [("env", []), ("sort", ["-n"])]),
        ("for i in $(seq 3); do echo $i; done", [("seq", []), ("echo", [])]),
        ("if true; then ls -l; fi", [("true", []), ("ls", ["-l"])]),
        ("case $x in a) ls -a;; esac", [("ls", ["-a"])]),
        ("echo $((1 + 2)) | tee -a f", [("echo", []), ("tee", ["-a"])]),
        ("cat > f -n", [("cat", ["-n"])]),
        ("ls \\", [("ls", [])]),
        ("", []),
        ("# nothing", []),
    ],
)
def test_commands_come_apart_as_the_shell_and_the_utilities_would(
    command: str, expected: list[tuple[str, list[str]]]
) -> None:
    """Each form of nesting and of option is read as the shell or the utility reads it."""
    assert outline(command) == expected


@pytest.mark.parametrize("command", ["ls 'a", "ls | | wc", "if true", "for", ")"])
def test_text_that_is_no_command_is_none(command: str) -> None:
    """A text that neither reader can read gives None."""
    assert utilities_of(command) is None
    assert calls_of(command) is None


def test_what_ends_an_executed_command_is_the_flags_value() -> None:
    """The value of `find -exec` is the end of its command: `;` for one run per file, `+` for one run per batch."""
    for end, value in (("\\;", ";"), ("+", "+")):
        (find,) = utilities_of(f"find . -exec rm {{}} {end}") or ()
        assert find.flags == (Flag("-exec", value),)


def test_bytes_are_read_like_text() -> None:
    """Bytes are read like text, even if they are not UTF-8."""
    assert utilities_of(b"ls -l") == utilities_of("ls -l")
    assert [utility.name for utility in utilities_of(b"ls \xff\xfe") or ()] == ["ls"]


@pytest.mark.parametrize(
    "command",
    [
        'find . -name \'*.c\' -printf "%p\\n" | xargs -I{} cp {} "$HOME/a b"',
        "touch a_`date +%F`.txt $A/$B",
        "ls <in >out -l 2>&1 | wc",
        "a && b || { c; d; } && (e; f)",
        "echo $'a\\tb' \"it's\" a\\ b",
        'while read -r x; do echo "$x $(wc -l < "$x")"; done < f',
    ],
)
def test_both_readers_see_the_same_calls(command: str) -> None:
    """Both readers return the same calls for a command that both grammars cover."""
    assert bashlex_reader.read_calls(command) == treesitter_reader.read_calls(command)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("abc", "abc"),
        ("a\\ b", "a b"),
        ("'a\\n'", "a\\n"),
        ('"a\\n\\"\\$"', 'a\\n"$'),
        ("$'a\\nb\\''", "a\nb'"),
        ("a'b'\"c\"d", "abcd"),
        ('"$(echo "a b")"c', '$(echo "a b")c'),
        ("`echo 'a'`'b'", "`echo 'a'`b"),
        ("'", "'"),
        ("\\", ""),
    ],
)
def test_quotes_are_removed_as_the_shell_removes_them(source: str, text: str) -> None:
    """Quotes are removed, quoted characters stay, and substitutions stay as written."""
    assert remove_quotes(source) == text


def test_no_letter_of_the_table_takes_a_value_and_takes_none() -> None:
    """The option table of a utility lists each letter in only one of its groups."""
    for name, options in option_table().items():
        twice = options.flags & options.values | options.flags & options.attached | options.values & options.attached
        assert not twice, name
