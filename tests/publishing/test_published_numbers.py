"""Tests of the public board from execution to publication: its numbers equal those of a locally scored board."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.published_boards import published_boards
from evaluator.records import ErrorClass, SideEffect
from evaluator.testing.evidence import deleted, evidence
from evaluator.testing.executor import RequestedExecution, Shows, fake_boards
from tests.publishing.judging_harness import Board

ANSWERS: dict[str, dict[str, list[str]]] = {
    "alice": {"files-1": ["mine", "shared"], "files-2": ["wrong"]},
    "bob": {"files-1": ["shared", "right"], "files-2": ["no such"]},
    "carol": {"files-1": ["echo ("], "files-2": [""]},
    "dora": {"files-2": ["right", "\u00e9", " \t"]},
    "eve": {"files-1": []},
    "frank": {"files-1": ["rm -r ~"], "files-2": ["echo yes "]},
}


def shows(call: RequestedExecution) -> Shows:
    """Return `no` as the output of the wrong commands and `yes` for the others. Two commands cannot run."""
    if call.command == "no such":
        return evidence(status=127, stderr="bash: line 1: no: command not found\n", wall_ms=12.0)
    if call.command == "echo (":
        return evidence(status=2, stderr="bash: -c: line 1: syntax error near unexpected token `('\n", wall_ms=7.0)
    if call.command == "rm -r ~":
        return evidence(changes=[deleted("/root/notes")])
    if call.command == "echo yes ":
        return evidence("  yes\n")
    return evidence("no\n" if call.command in ("wrong", "shared") else "yes\n", wall_ms=30.0)


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> tuple[SuiteBoard, SuiteBoard]:
    """Two boards of the same predictions: one from published verdicts, and one that is scored locally."""
    folder: Path = tmp_path_factory.mktemp("numbers")
    ours = Board(folder / "ours", answers=ANSWERS, shows=shows)
    ours.publish()
    theirs = Board(folder / "theirs", answers=ANSWERS, shows=shows)
    return published_boards(ours.project).boards[0], fake_boards(theirs.project, shows)[0]


def test_every_row_has_the_numbers_of_one_that_is_scored(boards: tuple[SuiteBoard, SuiteBoard]) -> None:
    """The rows of both boards are equal in every field except `judged_by`.

    No submission awaits verdicts, and no published verdict differs from the current judge.
    """
    published, scored = boards
    assert [row.model_copy(update={"judged_by": None}) for row in published.standings] == list(scored.standings)
    assert [row.judged_by.differs for row in published.standings if row.judged_by] == [()] * len(ANSWERS)
    assert published.awaiting == ()


def test_every_result_is_that_of_one_that_is_scored(boards: tuple[SuiteBoard, SuiteBoard]) -> None:
    """The downloadable results of both boards are equal: findings, text metrics and run metrics."""
    published, scored = boards
    assert [each.to_json() for each in published.results] == [each.to_json() for each in scored.results]
    assert {each.finding.outcome.value for each in published.results} >= {"pass", "fail", "invalid", "unanswered"}


def test_effects_and_errors_need_no_evidence(boards: tuple[SuiteBoard, SuiteBoard]) -> None:
    """A published board has the side effects and the error classes, which follow from its verdict files alone."""
    published, _ = boards
    found = {(row.submission, row.task): row for row in published.results if row.rank == 1}
    dangerous, formed = found["frank", "files-1"], found["frank", "files-2"]
    assert dangerous.run is not None
    assert (dangerous.run.side_effect, dangerous.error) == (SideEffect.DESTROYS_ELSEWHERE, ErrorClass.UTILITY)
    assert formed.error is ErrorClass.RIGHT_EFFECT
    assert found["bob", "files-2"].error is ErrorClass.NO_COMMAND
    figures = {row.submission: row.figures for row in published.standings}
    assert (figures["frank"].dangerous, figures["frank"].stateful_accuracy) == (0.5, 0)
    assert (figures["alice"].dangerous, figures["eve"].dangerous) == (0, None)
