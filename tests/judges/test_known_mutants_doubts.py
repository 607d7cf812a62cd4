"""A command that is a reference with one slip in it does not pass by showing the same here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluator.judges import find_judge
from evaluator.records import Ending, Outcome
from evaluator.testing.evidence import Shown, case, evidence, task

SAME: tuple[Shown, ...] = ("1\n", "1\n")

FINDINGS: dict[str, tuple[Shown, bool, Outcome]] = {
    "the same, and no slip": ("1\n", False, Outcome.PASS),
    "the same, and a slip": ("1\n", True, Outcome.UNDECIDED),
    "another spelling, and a slip": ("1 \n", True, Outcome.UNDECIDED),
    "something else, and a slip": ("2\n", True, Outcome.FAIL),
    "over time, and a slip": (evidence("1\n", ending=Ending.TIMEOUT), True, Outcome.TIMEOUT),
}


@pytest.mark.parametrize(("shows", "slip", "outcome"), FINDINGS.values(), ids=FINDINGS)
def test_a_slip_is_left_open_where_it_would_pass(shows: Shown, slip: bool, outcome: Outcome) -> None:
    """Only a pass is doubted: what fails, fails."""
    assert find_judge("consensus").judge(case(SAME, shows, task("set"), slip=slip)).outcome is outcome


def test_the_reason_says_what_is_doubted() -> None:
    """And that equal evidence is no proof here."""
    finding = find_judge("consensus").judge(case(SAME, "1\n", slip=True))
    assert "one slip away from a reference" in finding.reason


def test_a_reference_in_other_words_is_no_slip() -> None:
    """`find .` is `find . -print` to the shell's reader and to find, so nothing is left to doubt."""
    told = case(SAME, "1\n", slip=True, command=b"find . -print")
    references = (told.references[0], replace(told.references[1], command=b"find ."))
    assert find_judge("consensus").judge(replace(told, references=references)).outcome is Outcome.PASS
