"""A known mutant of a reference does not pass only because its evidence is equal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluator.judges import find_judge
from evaluator.records import Ending, Outcome
from evaluator.testing.evidence import Shown, case, evidence, task

SAME: tuple[Shown, ...] = ("1\n", "1\n")

FINDINGS: dict[str, tuple[Shown, bool, Outcome]] = {
    "the same, no mutant": ("1\n", False, Outcome.PASS),
    "the same, a mutant": ("1\n", True, Outcome.UNDECIDED),
    "another spelling, a mutant": ("1 \n", True, Outcome.UNDECIDED),
    "something else, a mutant": ("2\n", True, Outcome.FAIL),
    "over time, a mutant": (evidence("1\n", ending=Ending.TIMEOUT), True, Outcome.TIMEOUT),
}


@pytest.mark.parametrize(("shows", "is_known_mutant", "outcome"), FINDINGS.values(), ids=FINDINGS)
def test_a_mutant_is_undecided_if_it_would_pass(shows: Shown, is_known_mutant: bool, outcome: Outcome) -> None:
    """Only a pass becomes undecided. A failure stays a failure."""
    mutant = case(SAME, shows, task("set"), is_known_mutant=is_known_mutant)
    assert find_judge("consensus").judge(mutant).outcome is outcome


def test_the_reason_names_the_doubt() -> None:
    """Equal evidence does not prove that a known mutant is right, and the reason says so."""
    finding = find_judge("consensus").judge(case(SAME, "1\n", is_known_mutant=True))
    assert "one known mutation" in finding.reason


def test_another_spelling_of_a_reference_is_no_mutant() -> None:
    """`find .` and `find . -print` are the same call, so no doubt remains."""
    spelled_out = case(SAME, "1\n", is_known_mutant=True, command=b"find . -print")
    references = (spelled_out.references[0], replace(spelled_out.references[1], command=b"find ."))
    assert find_judge("consensus").judge(replace(spelled_out, references=references)).outcome is Outcome.PASS
