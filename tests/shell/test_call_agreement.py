"""How far the calls of a command agree with those of references."""

from __future__ import annotations

import pytest

from evaluator.records import CallAgreement
from evaluator.shell.call_agreement import LONGEST, call_agreement

UNREADABLE, NOT_COMPARED, NONE = CallAgreement.UNREADABLE, CallAgreement.NOT_COMPARED, CallAgreement.NONE
UTILITIES, FLAGS, ARGUMENTS = CallAgreement.UTILITIES, CallAgreement.FLAGS, CallAgreement.ARGUMENTS

PAIRS = [
    ("ls -l", ["ls -l"], ARGUMENTS),
    ("ls  -l #", ["ls -l"], ARGUMENTS),
    ("ls -la", ["ls -a -l"], ARGUMENTS),
    ("/bin/ls -l", ["ls -l"], ARGUMENTS),
    ("sort a | uniq", ["sort a > b; uniq < b"], ARGUMENTS),
    ("sort a && uniq", ["uniq || sort a"], ARGUMENTS),
    ("cat a > b", ["cat a >> c"], ARGUMENTS),
    ("X=1 sort a", ["sort a"], ARGUMENTS),
    ("head -n 5 a", ["head -n 10 a"], FLAGS),
    ("head -n5 a", ["head -n 5 a"], ARGUMENTS),
    ("cp a b", ["cp b a"], FLAGS),
    ("find . -name '*.c'", ["find . -name '*.h'"], FLAGS),
    ("find . -exec rm {} +", ["find . -exec rm {} ';'"], FLAGS),
    ("grep -i a b | grep c", ["grep a b | grep -i c"], FLAGS),
    ("grep -i a | sort -r", ["grep -r a | sort -i"], UTILITIES),
    ("grep -i a | grep -r b", ["grep -i -r a | grep b"], UTILITIES),
    ("head -5 a", ["head -n 5 a"], UTILITIES),
    ("ls --all", ["ls -a"], UTILITIES),
    ("sudo ls", ["ls"], NONE),
    ("sort a | sort b", ["sort a"], NONE),
    ("find . | xargs wc", ["find . -exec wc {} +"], NONE),
    ("find . | xargs -n 1 wc", ["find . | xargs wc"], UTILITIES),
    ("echo $(date)", ["date"], NONE),
    ("ls -l", ["du", "ls -a", "ls -l x"], FLAGS),
    ("ls -l", ["echo ${", "ls -l"], ARGUMENTS),
    ("x=1", ["y=2"], ARGUMENTS),
    ("", ["ls"], NONE),
    ("ls &&", ["ls"], UNREADABLE),
    ("echo 'a", ["echo a"], UNREADABLE),
    ("a\0b", ["a"], UNREADABLE),
    ("ls", ["echo ${"], NOT_COMPARED),
    ("ls", [" | ".join(["ls"] * (LONGEST + 1))], NOT_COMPARED),
    (" | ".join(["ls"] * LONGEST), [" | ".join(["ls"] * LONGEST)], ARGUMENTS),
]


@pytest.mark.parametrize(("command", "references", "expected"), PAIRS, ids=[pair[0][:40] or "empty" for pair in PAIRS])
def test_calls_agree_as_far_as_with_the_most_similar_reference(
    command: str, references: list[str], expected: CallAgreement
) -> None:
    assert call_agreement(command.encode(), [each.encode() for each in references]) is expected
