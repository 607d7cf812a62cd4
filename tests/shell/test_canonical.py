"""Tests of the canonical form: spellings that are one command, and commands that only look alike."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.shell.canonical import canonical_form, form_digest, text_digest
from evaluator.shell.repeats import contains, repeats

SAME = [
    ("find . -name \"*.c\"|sort --unique # all\n", "find . -name '*.c' | sort -u"),
    (": a; { ls  -l; } # list", "ls -l"),
    (":;ls -l", "ls -l"),
    ("true <<''; ls\n", "true"),
    ("true <<'';ls -l\n\n", "ls -l"),
    ("true && ls", "ls"),
    ("ls && true", "ls"),
    ("ls -la", "ls -a -l"),
    ("ls --all -l", "ls -al"),
    ("sort f -r -u", "sort -ur f"),
    ("sort -k2 -n f", "sort -n f -k 2"),
    ("sort -- f", "sort f"),
    ("grep -in 'a b' f", "grep -n --ignore-case a\\ b f"),
    ("head --lines=5 f", "head -n5 f"),
    ("rm -Rf x", "rm -r --force x"),
    ("cp --recursive a b", "cp -r a b"),
    ("wc --lines<f", "wc -l 0< f"),
    ("/usr/bin/find . -type f", "\\find . -type f"),
    ("command find .", "fi'n'd ."),
    ("/bin/sort f", "sort f"),
    ("{ a && b; }; c", "a && b; c"),
    ("{ a; } | { b; }", "a|b"),
    ("a;\n\nb # c\n", "a; b"),
    (">f ls", "ls 1> f"),
    ("ls $'a\\tb'", "ls 'a\tb'"),
    ("ls $'\\x61\\142c'", "ls abc"),
    ("cat <<'E'\nx\nE", "cat <<F\nx\nF\n"),
    ("cat <<-E\n\tx\n\tE", "cat <<E\nx\nE"),
    ("echo ${x}", "echo $x"),
    ("echo `ls -l`", "echo $( ls  -l )"),
    ("if { a; }; then b; fi", "if a\nthen\n\tb\nfi"),
    ("case x in (a) b;; esac", "case x in a) b; esac"),
    ("for i in a b; do c; done", "for i in a b\ndo c\ndone"),
    ("function f { ls; }", "f() { ls; }"),
    ("ls 'a'b\"c\"''", "ls abc"),
    ("\\\nls \\\n -l", "ls -l"),
    ("[[ $a == \"b\" ]]", "[[ $a == b ]]"),
    ("a=\"x\" b", "a=x b"),
    ("a | \\\n b |\n c", "a|b|c"),
    ("# x\n/usr/bin/ls 2>/dev/null", "ls 2> '/dev/null'"),
    ("ls  2>&1 # x\n", "{ ls 2>&1; }"),
]  # fmt: skip
DIFFERENT = [
    ('echo "$x"', "echo $x"),
    ("echo '*'", "echo *"),
    ("echo '~'", "echo ~"),
    ("echo '{a,b}'", "echo {a,b}"),
    ("echo '$x'", 'echo "$x"'),
    ("echo \\$x", "echo $x"),
    ("a=1 cmd", "a=1; cmd"),
    ("'a=1' cmd", "a=1 cmd"),
    ("cat <<E\n$x\nE", "cat <<'E'\n$x\nE"),
    ("cat <<E\nx\nE", "cat <<E\ny\nE"),
    ("/bin/echo a", "echo a"),
    ("/usr/bin/printf a", "printf a"),
    ("./find .", "find ."),
    ("ls; true", "ls"),
    ("false; :; echo $?", "false; echo $?"),
    ("false; :; exit", "false; exit"),
    ("set -e; a && true; b", "set -e; a; b"),
    (": > f; ls", "ls"),
    (": $(touch f); ls", "ls"),
    ("true <<E; ls\n$(touch f)\nE", "ls"),
    ("true() { rm f; }; true; ls", "true() { rm f; }; ls"),
    ("a & b", "a; b"),
    ("ls || true", "ls"),
    ("(cd x)", "cd x"),
    ("{ a & }; b", "a; b"),
    ("a && { b; c; }", "a && b; c"),
    ("sort -k1 -k2 f", "sort -k2 -k1 f"),
    ("grep -E -F x", "grep -F -E x"),
    ("du -h -B1 f", "du -B1 -h f"),
    ("[[ a =~ 'a.b' ]]", "[[ a =~ a.b ]]"),
    ("ls [a-z]", 'ls ["a-z"]'),
    ("echo ''$x", "echo $x"),
    ('"$@"', "$@"),
    ('a "$@"', 'a """$@"'),
    ("ps", "ps\n"),
    ("echo $LINENO", "echo $LINENO # x"),
    ("ls x 2> f", "/usr/bin/ls x 2> f"),
    ("find() { ls; }; command find", "find() { ls; }; find"),
    ("alias find=ls; find", "alias find=ls; \\find"),
    ("sort $x -u", "sort -u $x"),
    ('grep -c "$x" -i f', 'grep -ci "$x" f'),
    ("sort * -u", "sort -u *"),
    ("rm -- -f", "rm -f"),
    ("rm -- *", "rm *"),
    ("head -n '' f", "head -n f"),
    ("ls >f 2>&1", "ls 2>&1 >f"),
    ("a=(1 2)", "a='1 2'"),
    ("echo a b", "echo 'a b'"),
    ("echo 2>f", 'echo "2">f'),
    ("! a", "a"),
    ("a |& b", "a | b"),
    ("time ls", "ls"),
    ("'time' ls", "time ls"),
    ("'if' a", "if a; then b; fi"),
    ("echo \"\\n\"", "echo \\n"),
    ("cat <<-E\n\tx\nE", "cat <<E\n\tx\nE"),
    ("timeout 5 -k 1 ls", "timeout -k 1 5 ls"),
    ("find . -type f -name a", "find . -name a -type f"),
    ("ls $'a'", "ls '$a'"),
    ("echo a#b", "echo a"),
    ("a 2>&1", "# x\na 2>&1"),
    ("a 2> f; b", "a 2> f\nb"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_command_have_one_form(one: str, other: str) -> None:
    if other == "true":
        assert canonical_form(one.encode()) == canonical_form(b"ls")
        return
    assert canonical_form(one.encode()) is not None
    assert canonical_form(one.encode()) == canonical_form(other.encode())


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_bash_distinguishes_has_two_forms(one: str, other: str) -> None:
    assert canonical_form(one.encode()) is not None
    assert canonical_form(one.encode()) != canonical_form(other.encode())


@pytest.mark.parametrize("command", [b"ls 'a", b"(", b"ls\0-l"])
def test_what_no_parser_reads_is_compared_by_its_text(command: bytes) -> None:
    """Such a command has no form. White space at both ends of its text does not count."""
    assert canonical_form(command) is None
    assert form_digest(command) == form_digest(command + b"\n") == text_digest(b" " + command)


@given(st.binary(max_size=40) | st.text(alphabet="ab -'\"$(){}<>|;&\n\\`*[]=#:!", max_size=40).map(str.encode))
def test_any_text_has_a_form_or_none(command: bytes) -> None:
    """The form depends on the text alone, and a command repeats itself if it has one."""
    form = canonical_form(command)
    canonical_form.cache_clear()
    assert canonical_form(command) == form
    assert repeats(command, command) is (form is not None)
    contains(command, b"find . -type f -name a")


@pytest.mark.parametrize("unit", ["a|", "a;", "{ a; ", "$(a ", "'a'\"b\"", ": ;", "a[", "cat <<E\n", "x=(a ", "-l "])
def test_the_form_of_repeated_text_takes_linear_time(unit: str) -> None:
    before = time.process_time()
    canonical_form((unit * (60_000 // len(unit))).encode())
    contains(("ls " + unit * (60_000 // len(unit))).encode(), b"find . -type f -name a")
    assert time.process_time() - before < 10


REFERENCE = "find . -type f -name '*.log' | sort -u"
AROUND = [
    "sudo %s", "time %s", 'eval "%s"', 'bash -c "%s"', "LC_ALL=C %s", "true <<''; %s", "shopt -s extglob\nls !(a); %s",
    'sudo bash -c "%s"', "env LC_ALL=C nice -n 5 timeout -k 1 5 %s", "(%s)", "coproc { %s; }", "cat <(%s)",
    "trap \"%s\" EXIT", 'ssh host "%s"', "su -c \"%s\" bob", "f() { %s; }; f", "echo a; : b; %s; echo c",
    "for i in 1; do\n  %s\ndone", "a=1 command %s", "env -S '%s'",
]  # fmt: skip


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("spelling", [REFERENCE, 'find  . -type f -name "*.log"|sort --unique'])
def test_a_reference_is_found_in_every_wrapper(around: str, spelling: str) -> None:
    """Wrappers are programs that only run a command, assignments, texts that a shell reads, and compound commands."""
    if around.count('"') and '"' in spelling:
        spelling = spelling.replace('"', "'")
    if around == "env -S '%s'":
        spelling, reference = "find . -type f -newer a -size 5", "find . -type f -newer a -size 5"
    else:
        reference = REFERENCE
    command = (around % spelling).encode()
    assert contains(command, reference.encode())
    assert not contains(command.replace(b"find", b"fd"), reference.encode())


def test_a_longer_pipeline_and_another_target_are_other_commands() -> None:
    for command in (f"{REFERENCE} | wc -l", f"{REFERENCE} > out", REFERENCE.replace("-u", "-r")):
        assert not contains(command.encode(), REFERENCE.encode())


def test_no_two_references_of_a_task_have_one_form() -> None:
    """Otherwise a task would have fewer references than it seems, or the form would merge different commands."""
    fixtures = Path(__file__).parents[2] / "fixtures"
    pairs = [json.loads(line) for line in (fixtures / "train" / "pairs.jsonl").read_text("utf-8").split("\n") if line]
    commands = {pair["command"].encode() for pair in pairs}
    assert len({form_digest(command) for command in commands}) > 0.98 * len(commands)
