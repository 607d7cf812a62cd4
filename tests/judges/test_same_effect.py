"""Whether a command has the effect of a reference, apart from the form of its output."""

from __future__ import annotations

import pytest

from evaluator.judges.same_effect import has_same_effect
from evaluator.records import Ending, Evidence, Observation, OutputMode
from evaluator.testing.evidence import added, case, evidence, modified, output, shell, task

LONG = evidence().model_copy(update={"stdout": output("a b\n" * 9, cap=4)})
OTHER_LONG = evidence().model_copy(update={"stdout": output("a  b\n" * 9, cap=4)})
STOPPED = evidence("3\n", ending=Ending.MEMORY, status=None)
LIST = evidence(changes=[added("/srv/list", "a 1\nb 2\n", text=True)])
PADDED_LIST = evidence(changes=[added("/srv/list", "a  1\nb  2\n", text=True)])

PAIRS = [
    ("the same", "exact", "3\n", "3\n", True),
    ("blanks before it", "exact", "3\n", "   3\n", True),
    ("in one line", "lines", "a\nb\n", "a b\n", True),
    ("another word", "exact", "3\n", "4\n", False),
    ("a word more", "exact", "3\n", "3 a.txt\n", False),
    ("another order", "lines", "a\nb\n", "b\na\n", False),
    ("another order of rows in a set", "set", "a 1\nb 2\n", "b 2\na 1\n", True),
    ("another order of words in the rows of a set", "set", "a 1\nb 2\n", "1 a\n2 b\n", True),
    ("other rows of the same words", "set", "a 1\nb 2\n", "a 2\nb 1\n", False),
    ("a row twice", "set", "a\nb\n", "a\nb\nb\n", False),
    ("output that does not count", "none", LIST, LIST.model_copy(update={"stdout": output("x")}), True),
    ("nothing to compare", "none", "a", "b", False),
    ("nothing shown", "exact", "", "", False),
    ("only the output", "exact", evidence("3\n", changes=[added("/srv/x")]), "3\n", False),
    ("another content", "exact", LIST, evidence(changes=[added("/srv/list", "x", text=True)]), False),
    ("a listed file in another form", "exact", LIST, PADDED_LIST, True),
    (
        "another file in another form",
        "exact",
        evidence(changes=[modified("/srv/x", "a b")]),
        evidence(changes=[modified("/srv/x", "a  b")]),
        False,
    ),
    ("a temporary file more", "exact", "3\n", evidence("3\n", changes=[added("/tmp/x")]), True),
    ("a file more", "exact", "3\n", evidence("3\n", changes=[added("/srv/x")]), False),
    ("long output in another form", "exact", LONG, OTHER_LONG, False),
    ("the same long output", "exact", LONG, LONG, True),
    ("stopped by a limit", "exact", "3\n", STOPPED, False),
    ("a reference stopped by a limit", "exact", STOPPED, "3\n", False),
    ("another status that does not count", "exact", "3\n", evidence("3\n", status=1), True),
]


@pytest.mark.parametrize(("name", "mode", "reference", "candidate", "same"), PAIRS, ids=[row[0] for row in PAIRS])
def test_only_the_form_may_differ(
    name: str, mode: str, reference: Evidence | str, candidate: Evidence | str, same: bool
) -> None:
    assert has_same_effect(case([reference], candidate, task(OutputMode(mode)))) is same


def test_a_reference_must_fit_in_the_first_variant() -> None:
    """A candidate that fails there runs in no other variant."""
    candidate = {"one": " a\n", "two": " b\n"}
    assert has_same_effect(case([{"one": "x\n", "two": "b\n"}, {"one": "a\n", "two": "x\n"}], candidate))
    assert not has_same_effect(case([{"one": "x\n", "two": "b\n"}, {"one": "y\n", "two": "b\n"}], candidate))


def test_one_reference_must_fit_in_output_and_state() -> None:
    """Two references that fit in one of them each are not enough."""
    here, there = evidence("a\n", changes=[added("/srv/x")]), evidence("a\n", changes=[added("/srv/y")])
    other = evidence("b\n", changes=[added("/srv/x")])
    assert has_same_effect(case([there, here], here))
    assert not has_same_effect(case([there, other], here))


@pytest.mark.parametrize(
    ("observed", "fields"),
    [(Observation.EXIT, {"status": 1}), (Observation.SHELL, {"shell": shell({"x": "1"})})],
)
def test_what_the_task_observes_belongs_to_the_state(observed: Observation, fields: dict[str, object]) -> None:
    reference = evidence("3\n", shell=shell())
    candidate = reference.model_copy(update=fields)
    assert has_same_effect(case([reference], candidate))
    assert not has_same_effect(case([reference], candidate, task(observe=[observed])))


def test_standard_error_is_a_matter_of_form() -> None:
    """The messages of two programs have different words, even if the task asks for a message."""
    asked = task(observe=[Observation.STDERR])
    assert has_same_effect(case([evidence("3\n", stderr="a: no\n")], evidence("3\n", stderr="b: never\n"), asked))


def test_no_answer_has_no_effect() -> None:
    assert not has_same_effect(case(["a"], None))
