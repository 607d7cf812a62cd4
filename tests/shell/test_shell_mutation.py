"""Mutants: the operators that make them, the words that each operator changes, and the rest, which stays the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.shell import calls_of
from evaluator.shell.mutation import mutants_of

TASKS = sorted((Path(__file__).parents[2] / "fixtures" / "core" / "tasks").rglob("*.jsonl"))
REFERENCES = [
    reference
    for path in TASKS
    for line in path.read_text().splitlines()
    for reference in json.loads(line)["references"]
]


def mutants(command: str) -> dict[str, set[str]]:
    """Return the mutants of a command by operator."""
    found: dict[str, set[str]] = {}
    for mutant in mutants_of(command.encode()):
        found.setdefault(mutant.operator, set()).add(mutant.command.decode())
    return found


@pytest.mark.parametrize(
    ("operator", "command", "mutant"),
    [
        ("drop-flag", "ls -la", "ls -a"),
        ("drop-flag", "sort -t, -k2,2 a", "sort -k2,2 a"),
        ("drop-flag", "head -n 5 a", "head a"),
        ("drop-flag", "tar czf a.tgz b", "tar cf a.tgz b"),
        ("drop-flag", "grep --include='*.c' -r x .", "grep -r x ."),
        ("drop-flag", "pkill -u clerk -x cat", "pkill -x cat"),
        ("drop-flag", "find . -name a | xargs -r rm -f", "find . -name a | xargs -r rm"),
        ("drop-predicate", "find . -type f ! -name a", "find . -type f"),
        ("drop-predicate", r"find . \( -name a -o -name b \)", r"find . \( -name b \)"),
        ("drop-predicate", "find . -type f -size +5k -delete", "find . -type f -delete"),
        ("drop-negation", "find . ! -name a", "find . -name a"),
        ("drop-negation", "if ! grep -q a b; then ls; fi", "if grep -q a b; then ls; fi"),
        ("drop-negation", "[[ ! -e a ]]", "[[ -e a ]]"),
        ("drop-negation", "awk '!seen[$0]++' a", "awk 'seen[$0]++' a"),
        ("drop-group", r"find . \( -name a -o -name b \) -delete", "find . -name a -o -name b -delete"),
        ("drop-stage", "cat a | sort | uniq", "cat a | uniq"),
        ("drop-command", "cd a && ls", "ls"),
        ("drop-command", "mkdir a; touch a/b", "mkdir a;"),
        ("drop-assignment", "while IFS= read -r f; do :; done", "while read -r f; do :; done"),
        ("drop-declaration", "export A=1", "A=1"),
        ("drop-assignment", "export A=1 B=2", "export A=1"),
        ("order", "PATH=/a:$PATH", "PATH=$PATH:/a"),
        ("drop-redirect", "ls 2>/dev/null", "ls"),
        ("drop-background", "sleep 9 &", "sleep 9"),
        ("drop-dashes", "rm -- a", "rm a"),
        ("drop-condition", "[[ -f a && -x a ]]", "[[ -f a ]]"),
        ("append", "echo a > b", "echo a >> b"),
        ("append", "echo a &>> b", "echo a &> b"),
        ("and-or", "cd a && ls", "cd a || ls"),
        ("and-or", "find . -name a -o -name b", "find . -name a -name b"),
        ("number", "sed -n 10,15p a", "sed -n 10,16p a"),
        ("number", "mkdir {01..12}", "mkdir {01..11}"),
        ("number", "awk '$1 > 10' a", "awk '$1 > 11' a"),
        ("compare", "awk '$1 > 10' a", "awk '$1 >= 10' a"),
        ("compare", '[ "$a" -gt 3 ]', '[ "$a" -ge 3 ]'),
        ("field", "awk '{ print $2 }' a", "awk '{ print $3 }' a"),
        ("sign", "find . -mtime -7", "find . -mtime +7"),
        ("sign", "find . -perm -0002", "find . -perm /0002"),
        ("unit", "find . -size +5k", "find . -size +5"),
        ("type", "find . -type f", "find . -type d"),
        ("test", "[[ -f a ]]", "[[ -e a ]]"),
        ("predicate", "find . -name a", "find . -iname a"),
        ("mode", "chmod 755 a", "chmod 555 a"),
        ("mode", "chmod u+x a", "chmod a+x a"),
        ("name", "chown clerk a", "chown root a"),
        ("name", "find . -user clerk", "find . -user root"),
        ("path", "ls /srv/www", "ls /srv"),
        ("path", "rsync -a a/ b", "rsync -a a b"),
        ("path", "find scans -type f", "find . -type f"),
        ("glob", "ls *.c", "ls *c"),
        ("glob", "find . -name '*.[ch]'", "find . -name '*.c'"),
        ("quotes", 'rm "$f"', "rm $f"),
        ("quotes", "find . -name '*.c'", "find . -name *.c"),
        ("null-pair", "find . -print0 | xargs -0 rm", "find . -print | xargs rm"),
        ("null-pair", "find . -printf '%P\\0' | sort -z | head -zn 3", "find . -printf '%P\\n' | sort | head -n 3"),
        ("utility", "head -n 3 a", "tail -n 3 a"),
        ("add-flag", "grep a b", "grep -v a b"),
        ("swap-flag", "sort a | uniq -d", "sort a | uniq -u"),
        ("swap-flag", "comm -23 a b", "comm -13 a b"),
        ("sort-key", "sort -k1,1nr a", "sort -k1,1r a"),
        ("sort-key", "sort -k2,2 -k1,1 a", "sort -k2 -k1,1 a"),
        ("signal", "pkill -HUP cat", "pkill -TERM cat"),
        ("anchor", "grep '^a$' b", "grep 'a$' b"),
        ("anchor", "grep '^a$' b", "grep '^a' b"),
        ("regex", r"grep '\.c$' a", "grep '.c$' a"),
        ("pattern", "grep timeout a", "grep timeou a"),
        ("sed-flag", "sed s/a/b/g c", "sed s/a/b/ c"),
        ("expansion", 'echo "${f##*/}"', 'echo "${f#*/}"'),
        ("expansion", 'echo "${f%.c}"', 'echo "${f}"'),
        ("loop", "while true; do ls; done", "until true; do ls; done"),
        ("drop-branch", "if a; then b; else c; fi", "if a; then b; fi"),
        ("date", "date -d yesterday", "date -d today"),
        ("swap-sets", "tr a-z A-Z", "tr A-Z a-z"),
        (
            "type",
            """find . -exec bash -c 'find "$1" -type f' _ {} +""",
            """find . -exec bash -c 'find "$1" -type d' _ {} +""",
        ),
    ],
)
def test_each_slip_is_made(operator: str, command: str, mutant: str) -> None:
    assert mutant in mutants(command)[operator]


def test_a_flag_goes_with_its_value() -> None:
    """Dropping a flag also drops its value: `sort -t , a` does not become `sort , a`."""
    assert "sort a" in mutants("sort -t , a")["drop-flag"]
    assert "sort , a" not in mutants("sort -t , a")["drop-flag"]


def test_flags_of_the_command_that_a_utility_runs_are_that_command_s() -> None:
    """The flags of a command that xargs runs are dropped independently of the flags of xargs."""
    assert "xargs -r grep b" in mutants("xargs -r grep -x b")["drop-flag"]
    assert "xargs grep -x b" in mutants("xargs -r grep -x b")["drop-flag"]


@pytest.mark.parametrize(
    ("command", "mutant"),
    [
        ("tar xzf a.tgz", "tar xf a.tgz"),
        ("perl -F: -lane 'print $F[1]' a", "perl -F: -lae 'print $F[1]' a"),
        ("grep -F abc d", "grep abc d"),
        ("grep -E abc d", "grep -F abc d"),
        ("sort -k2,2 a", "sort -k2 a"),
        ('t=$(mktemp -d) && rm -r "$t"', "t=$(mktemp -d)"),
        ('for n in {1..9}; do echo "$n"; done', "for n in {1..9}; do echo $n; done"),
        ("ls 2> /dev/null", "ls 2>> /dev/null"),
    ],
)
def test_what_could_make_no_difference_is_no_slip(command: str, mutant: str) -> None:
    """A change that cannot have an effect is no mutant, because such a mutant would only need an equivalence mark."""
    assert mutant.encode() not in [each.command for each in mutants_of(command.encode())]


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    found = [mutant.command for mutant in mutants_of(b"rm -f '\xff\xfe'")]
    assert found
    assert all(b"\xff\xfe" in each for each in found)


@pytest.mark.parametrize("command", ["", "true", "((", "'", "for", "\xff"])
def test_what_has_nothing_to_change_has_no_mutants(command: str) -> None:
    assert mutants_of(command.encode()) == ()


def test_mutants_of_core_read_as_shell_differ_and_come_once_in_the_same_order() -> None:
    """A few commands, such as `ncal`, have no mutant."""
    assert len(REFERENCES) > 500
    for reference in REFERENCES[::6]:
        found = mutants_of(reference.encode())
        texts = [mutant.command.decode() for mutant in found]
        assert found == mutants_of(reference.encode())
        assert len(set(texts)) == len(texts)
        assert reference not in texts
        assert calls_of(reference) is None or all(calls_of(text) is not None for text in texts)


@given(st.text(st.sampled_from("find grep -name '*.c' | && ( ) { } [ ] ; \" ' $ ` \\ ! \n < > 0 1 é"), max_size=60))
def test_whatever_the_text_nothing_raises(text: str) -> None:
    for mutant in mutants_of(text.encode()):
        assert mutant.command != text.encode()
