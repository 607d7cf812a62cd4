"""Labels of ours follow the state; all others are their owners'."""

from __future__ import annotations

import pytest

from evaluator.github.labels import LabelChange, StateLabel, set_labels
from tests.doubles.github import Fault, Pull
from tests.github.github_bench import Bench

OURS = (StateLabel("valid", "0e8a16", "Passed the check."), StateLabel("needs changes", "d93f0b", "See the comment."))


def change(bench: Bench, pull: Pull, *wanted: str) -> LabelChange:
    return set_labels(bench.connect(), pull.number, OURS, wanted)


def test_the_state_is_set_and_others_labels_stay(bench: Bench) -> None:
    pull = bench.pull()
    bench.github.label(bench.board, "question", "ffffff")
    pull.labels.append("question")
    assert change(bench, pull, "needs changes") == LabelChange(("needs changes",), ())
    assert change(bench, pull, "valid") == LabelChange(("valid",), ("needs changes",))
    assert pull.labels == ["question", "valid"]


def test_what_is_set_already_is_not_written(bench: Bench) -> None:
    pull = bench.pull()
    change(bench, pull, "valid")
    before = len(bench.asked())
    assert change(bench, pull, "valid") == LabelChange((), ())
    assert bench.asked()[before:] == [f"GET /issues/{pull.number}/labels"]


def test_a_missing_label_is_made_with_colour_and_words(bench: Bench) -> None:
    change(bench, bench.pull(), "valid")
    made = bench.board.labels["valid"]
    assert (made.color, made.description) == ("0e8a16", "Passed the check.")
    assert set(bench.board.labels) == {"valid"}


def test_a_label_that_maintainers_changed_stays_as_they_want_it(bench: Bench) -> None:
    """Its colour, and how its name is spelt: GitHub tells names apart without regard to case."""
    bench.github.label(bench.board, "Valid", "123456", "Ours.")
    pull = bench.pull()
    assert [change(bench, pull, "valid").added for _ in range(2)] == [("valid",), ()]
    assert (pull.labels, bench.board.labels["valid"].color) == (["Valid"], "123456")
    assert change(bench, pull) == LabelChange((), ("Valid",))


@pytest.mark.parametrize(("method", "path"), [("POST", "/labels"), ("DELETE", "/labels/valid"), ("POST", "1/labels")])
def test_a_lost_answer_changes_nothing(bench: Bench, method: str, path: str) -> None:
    """What was obeyed is not undone by asking again, and is no error."""
    pull = bench.pull()
    bench.github.faults.append(Fault(502, method=method, path=path, late=True))
    change(bench, pull, "valid")
    change(bench, pull, "needs changes")
    assert pull.labels == ["needs changes"]
    assert bench.github.faults == []


def test_a_label_that_is_none_of_ours_is_wrong_use(bench: Bench) -> None:
    with pytest.raises(ValueError, match="no labels of ours"):
        change(bench, bench.pull(), "question")
