"""Objects for the searches of NL2Bash: the real `find` finds them."""

from __future__ import annotations

import os
import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluator.suites.importers.file_modes import example_mode
from evaluator.suites.importers.find_expression import FindPredicate, read_find_expression
from evaluator.suites.importers.find_objects import FIND_FUNCTIONS, example_name, find_object_lines, is_awkward
from evaluator.suites.importers.regex_example import NoExampleError, regex_example


def found(folder: Path, command: str) -> list[str]:
    """Create the objects of a command in a folder, and return the lines that the command then prints.

    The objects' times are relative to the present, because no clock is pinned here. The time zone is one in which it is
    noon, because `-daystart` and the time of day together decide whether an object is of today.
    """
    lines = find_object_lines(command, 7, str(folder))
    script = "\n".join([f"CLOCK=$(date +%s){FIND_FUNCTIONS}", *lines])
    noon = {**os.environ, "TZ": f"NOON{datetime.now(UTC).hour - 12:+d}"}
    subprocess.run(["bash", "-c", script], cwd=folder, env=noon, check=True)
    shown = subprocess.run(["bash", "-c", command], cwd=folder, env=noon, capture_output=True, text=True, check=False)
    assert shown.stderr == ""
    return [line for line in shown.stdout.replace("\0", "\n").splitlines() if "/" in line]


@pytest.mark.parametrize(
    "command",
    [
        "find . -name '*.jpg' -size +500k",
        "find . -size -26c -size +23c -print",
        "find . -type f -size 10k",
        "find . -type d -empty",
        "find . -type f -empty -name 'core*'",
        "find . -mtime 7 -name '*.html' -print",
        "find . -mtime +3 -mtime -6",
        "find . -mmin +15 -mmin -25",
        "find . -amin 10",
        "find . -atime +30",
        "find . -daystart -mtime -1 -name today.txt",
        "find . -perm 766",
        "find . -type f -perm -u=rwx,o+w",
        "find . -perm /222 ! -perm -111 -type d",
        "find . -type l -xtype l",
        "find . -lname '*foo.txt'",
        "find . -type s",
        "find . -links +1 -type f",
        r"find . -regex '.*/course[0-9]\.[0-9]$' -type d",
        r"find . -type f -regex '.*\.\(jpg\|png\)'",
        "find . -regextype posix-egrep -regex './c([4-6][0-9]|70)_data.txt'",
        "find . -iregex './(EA|FS)_.*' -o -name fallback",
        "find . -path './a/*/c' -name c",
        "find . -path '*/p/*' -name '*.c'",
        "find ./ -newer start.txt -and ! -newer end.txt",
        "find . -newermt 2014-08-25 ! -newermt 2014-08-26 -print",
        r"find . \( -name '*.mp3' -o -name '*.ogg' \) -size +2k",
        "find . -mindepth 3 -name deep",
        "find . -maxdepth 1 -name flat.txt",
        "find . -name foo -type d -prune -o -name foo -type f -print",
        "find . -samefile original",
        "find . -not -name '*.c' -size +5k",
    ],
)
def test_find_finds_the_object_that_is_made_for_it(tmp_path: Path, command: str) -> None:
    assert found(tmp_path, command) != []


def test_each_alternative_has_an_object(tmp_path: Path) -> None:
    assert len(found(tmp_path, "find . -name '*.mp3' -o -name '*.ogg' -o -type d -name albums")) == 3


@pytest.mark.parametrize(
    "command",
    [
        "find /proc -name x",
        "find . -name a -prune",
        "find .",
        "ls -l",
        "find . -size big",
        "find . -name 'x",
        "find . (",
    ],
)
def test_no_object_is_made_outside_the_world_or_for_an_expression_that_cannot_be_read(command: str) -> None:
    lines = find_object_lines(command, 7, "/home/user")
    assert not [line for line in lines if "/proc" in line]
    assert lines == [] or command == "find ."


def test_names_in_a_command_are_data(tmp_path: Path) -> None:
    """A name with shell syntax is a name, and no part of the script."""
    assert found(tmp_path, "find . -name '$(touch evil); x'") == ["./t70/$(touch evil); x"]
    assert not (tmp_path / "evil").exists()


def test_awkward_objects_are_known() -> None:
    assert is_awkward(find_object_lines("find . -size +50M", 1, "/home/user"))
    assert is_awkward(find_object_lines("find . -type l", 1, "/home/user"))
    assert not is_awkward(find_object_lines("find . -size +50k -newer x", 1, "/home/user"))
    assert not is_awkward(find_object_lines("find . -samefile x", 1, "/home/user"))


def test_an_expression_becomes_alternatives() -> None:
    expression = read_find_expression(r"find a b -type f \( -name x -o ! -name y \) -print")
    assert expression is not None
    assert expression.roots == ("a", "b")
    kind, shown = FindPredicate("-type", "f"), FindPredicate("-print")
    assert expression.alternatives == (
        (kind, FindPredicate("-name", "x"), shown),
        (kind, FindPredicate("-name", "y", negated=True), shown),
    )


@pytest.mark.parametrize(
    ("value", "mode"),
    [("644", 0o644), ("-220", 0o220), ("/u+w,g+w", 0o220), ("+u=s", 0o4000), ("-o+w,+s", 0o6002), ("u=rwx", 0o700)],
)
def test_a_mode_satisfies_a_predicate(value: str, mode: int) -> None:
    assert example_mode(value) == mode


def test_other_text_is_no_mode() -> None:
    with pytest.raises(ValueError, match="g\\*s is not a mode"):
        example_mode("g*s")


@pytest.mark.parametrize(
    ("pattern", "extended", "text"),
    [
        (r"a\(b\|c\)*d", False, "abd"),
        ("a(b|c)+d", True, "abd"),
        (r"[a-f]\{3\}\.txt", False, "aaa.txt"),
        ("[^a]?[[:digit:]]{2,4}", True, "z11"),
        (".*x", False, "xx"),
        ("a(b", False, "a(b"),
    ],
)
def test_an_example_matches_its_pattern(pattern: str, extended: bool, text: str) -> None:
    assert regex_example(pattern, extended=extended) == text


@pytest.mark.parametrize("pattern", ["a(b", "a)", "*a", "a{x}"])
def test_an_invalid_pattern_has_no_example(pattern: str) -> None:
    with pytest.raises(NoExampleError):
        regex_example(pattern, extended=True)


def test_names_of_different_commands_differ() -> None:
    assert example_name("*.[ch]", 5) == "m5.c"
    assert shlex.quote(example_name("[!a]?*", 6)) == "zam6"
