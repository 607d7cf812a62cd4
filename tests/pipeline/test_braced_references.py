"""References in braces: they do the same, so each verdict but a pass is a finding."""

from __future__ import annotations

from pathlib import Path

from evaluator.pipeline.maintenance.braced_references import braced_lines, braced_verdicts, in_braces
from evaluator.records import Outcome
from evaluator.testing.checkouts import small_task
from evaluator.testing.evidence import evidence
from evaluator.testing.executor import Shows
from tests.pipeline.grading_bench import SHOWN, GradingHarness


def test_braces_hold_a_comment_and_a_here_document() -> None:
    assert in_braces(b"ls # all") == b"{ ls # all\n}"
    assert in_braces(b"cat <<E\na\nE") == b"{ cat <<E\na\nE\n}"


def test_a_reference_that_shows_the_same_in_braces_passes(tmp_path: Path) -> None:
    harness = GradingHarness(tmp_path)
    harness.tasks = [small_task("files-1", ["right", "right too"])]
    play = {**SHOWN, "{ right\n}": "yes\n", "{ right too\n}": "yes\n"}
    verdicts = braced_verdicts(harness.tasks, harness.grader(play))
    assert [(each.reference, each.outcome) for each in verdicts] == [(1, Outcome.PASS), (2, Outcome.PASS)]
    assert list(braced_lines(verdicts)) == ["2 of 2 references pass in braces"]


def test_each_other_verdict_is_listed_with_the_state_of_the_reference(tmp_path: Path) -> None:
    harness = GradingHarness(tmp_path)
    harness.tasks = [small_task("files-1", ["right", "right too"])]
    failing = evidence("yes\n", status=3)
    play: dict[str, Shows] = {**SHOWN, "right": failing, "{ right\n}": "no\n", "{ right too\n}": "yes\n"}
    verdicts = braced_verdicts(harness.tasks, harness.grader(play))
    assert [each.outcome is Outcome.PASS for each in verdicts] == [False, True]
    line, last = braced_lines(verdicts)
    assert line.startswith(f"files-1, reference 1: {verdicts[0].outcome.value}: ")
    assert line.endswith("; the reference ends with status 3")
    assert last == "1 of 2 references pass in braces"
