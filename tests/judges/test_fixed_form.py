"""Lines are compared as a whole if the instruction fixes their form and three references print the same lines."""

from __future__ import annotations

import pytest

from evaluator.judges import find_judge
from evaluator.records import Outcome
from evaluator.testing.evidence import case, task

PASS, FAIL = Outcome.PASS, Outcome.FAIL
START = "List the notes, as paths starting with notes/"
LIKE = 'Print size and name of each note, like "12 a.txt".'
LINES = "Print the names in the box, one per line"
FREE = "Print the names in the box"
PATHS, SIZES, NAMES = "notes/a\nnotes/b c\n", "1 a\n22 b\n", "a\nb\nc\n"
RAGGED = "a\nb c\nd\n"

CASES: dict[str, tuple[str, str, str, Outcome]] = {
    "another order": (START, PATHS, "notes/b c\nnotes/a\n", PASS),
    "absolute paths": (START, PATHS, "/root/notes/a\n/root/notes/b c\n", FAIL),
    "paths from here": (START, PATHS, "./notes/a\n./notes/b c\n", FAIL),
    "torn at blanks": (START, PATHS, "notes/a\nnotes/b\nc\n", FAIL),
    "swapped fields": (LIKE, SIZES, "a 1\nb 22\n", FAIL),
    "wider blanks": (LIKE, SIZES, " 1\ta \n22  b\n", PASS),
    "all on one line": (LINES, NAMES, "a b c\n", FAIL),
    "a heading": (LINES, NAMES, "total 0\na\nb\nc\n", FAIL),
    "a final slash": (LINES, NAMES, "a/\nb\nc\n", PASS),
    "free: on one line": (FREE, NAMES, "a b c\n", PASS),
    "free: absolute paths": (FREE, "a\nb\n", "/root/a\n/root/b\n", PASS),
    "free: rows that cannot be found again": (FREE, RAGGED, "a b c d\n", FAIL),
}


@pytest.mark.parametrize(("nl", "reference", "candidate", "outcome"), CASES.values(), ids=CASES)
def test_the_form_of_lines(nl: str, reference: str, candidate: str, outcome: Outcome) -> None:
    finding = find_judge("consensus").judge(case([reference] * 3, candidate, task("set", nl=nl), cwd="/root"))
    assert finding.outcome is outcome


def test_two_references_teach_no_form() -> None:
    of = task("set", nl=LIKE)
    assert find_judge("consensus").judge(case([SIZES] * 2, "a 1\nb 22\n", of)).outcome is PASS


def test_references_with_different_lines_teach_no_form() -> None:
    of = task("set", nl=LIKE)
    references = [SIZES, SIZES, "a 1\nb 22\n"]
    assert find_judge("consensus").judge(case(references, "22 b\na 1\n", of)).outcome is PASS
