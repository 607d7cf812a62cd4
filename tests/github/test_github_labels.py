"""The project sets only its own labels and leaves all other labels unchanged."""

from __future__ import annotations

import pytest

from evaluator.github.labels import LabelChange, StateLabel, set_labels
from tests.doubles.github import InjectedFault, Pull
from tests.github.github_harness import GithubHarness

OURS = (StateLabel("valid", "0e8a16", "Passed the check."), StateLabel("needs changes", "d93f0b", "See the comment."))


def change(harness: GithubHarness, pull: Pull, *wanted: str) -> LabelChange:
    return set_labels(harness.connect(), pull.number, OURS, wanted)


def test_the_state_is_set_and_others_labels_stay(harness: GithubHarness) -> None:
    pull = harness.pull()
    harness.github.label(harness.board, "question", "ffffff")
    pull.labels.append("question")
    assert change(harness, pull, "needs changes") == LabelChange(("needs changes",), ())
    assert change(harness, pull, "valid") == LabelChange(("valid",), ("needs changes",))
    assert pull.labels == ["question", "valid"]


def test_what_is_set_already_is_not_written(harness: GithubHarness) -> None:
    pull = harness.pull()
    change(harness, pull, "valid")
    before = len(harness.asked())
    assert change(harness, pull, "valid") == LabelChange((), ())
    assert harness.asked()[before:] == [f"GET /issues/{pull.number}/labels"]


def test_a_missing_label_is_made_with_colour_and_words(harness: GithubHarness) -> None:
    change(harness, harness.pull(), "valid")
    made = harness.board.labels["valid"]
    assert (made.color, made.description) == ("0e8a16", "Passed the check.")
    assert set(harness.board.labels) == {"valid"}


def test_a_label_that_maintainers_changed_stays_as_they_want_it(harness: GithubHarness) -> None:
    """A label keeps the colour and the case that maintainers gave it. GitHub ignores case in label names."""
    harness.github.label(harness.board, "Valid", "123456", "Ours.")
    pull = harness.pull()
    assert [change(harness, pull, "valid").added for _ in range(2)] == [("valid",), ()]
    assert (pull.labels, harness.board.labels["valid"].color) == (["Valid"], "123456")
    assert change(harness, pull) == LabelChange((), ("Valid",))


@pytest.mark.parametrize(("method", "path"), [("POST", "/labels"), ("DELETE", "/labels/valid"), ("POST", "1/labels")])
def test_a_lost_answer_changes_nothing(harness: GithubHarness, method: str, path: str) -> None:
    """A repeated request is no error if GitHub had already carried out the first one."""
    pull = harness.pull()
    harness.github.faults.append(InjectedFault(502, method=method, path=path, late=True))
    change(harness, pull, "valid")
    change(harness, pull, "needs changes")
    assert pull.labels == ["needs changes"]
    assert harness.github.faults == []


def test_a_label_that_is_none_of_ours_is_wrong_use(harness: GithubHarness) -> None:
    with pytest.raises(ValueError, match="unknown labels"):
        change(harness, harness.pull(), "question")
