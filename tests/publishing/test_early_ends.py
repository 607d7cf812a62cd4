"""Published lines with early ends: who executes makes no difference, and only runs behind a decision may be missing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from evaluator.pipeline.evidence.required_runs import submitted_items
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes
from evaluator.pipeline.publishing.derive import AvailableEvidence, SubmissionRun
from evaluator.pipeline.publishing.suite_context import load_suite_context
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.records import Outcome
from evaluator.sandbox.image_recipe import image_reference
from evaluator.store import Store
from evaluator.testing.evidence import evidence
from evaluator.testing.executor import RequestedExecution, Shows
from tests.publishing.judging_harness import TASKS, Board
from tests.publishing.test_fresh_publishing import FreshBoard

ANSWERS = {
    "alice": {"files-1": ["wrong", "wrong in two"], "files-2": ["unsteady"]},
    "bob": {"files-1": ["wrong", "his own"]},
}
REFERENCES = {"right", "right too", "also right"}


def play(call: RequestedExecution) -> Shows:
    """Return the output of a command. References print another number in each run, in the first variant."""
    if call.command in REFERENCES:
        return f"yes {call.before if call.variant == 'one' else 0}\n"
    if call.command == "wrong" or (call.command == "wrong in two" and call.variant == "two"):
        return "no 0\n"
    return f"{call.before} 0\n" if call.command == "unsteady" else "yes 0\n"


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board(tmp_path / "board", ANSWERS, TASKS, play)


def local_lines(board: Board, slug: str) -> bytes:
    """Grade a submission on one machine, in one store without prepared references. Return its verdict file."""
    (suite,), (submission,) = board.project.suites(), load_submissions(board.project, [slug])
    with closing(Store(board.project.store_path)) as store:
        store.set_fingerprint(image_reference(suite.manifest), board.fingerprint)
        board._grader(store).grade(submitted_items(suite, submission))
        context = load_suite_context(board.project, suite, board.fingerprint, store)
        run = SubmissionRun(context, submission)
        derived = run.derive(AvailableEvidence(store.evidence(run.runs)))
    assert derived.missing == ()
    return verdict_bytes(VerdictFile(derived.header, derived.verdicts))


@pytest.mark.parametrize("slug", ["alice", "bob"])
def test_a_local_run_gives_the_lines_of_prepared_and_executed_ones(board: Board, tmp_path: Path, slug: str) -> None:
    """The lines are equal, byte for byte, although the local store lacks second runs of references."""
    board.publish()
    local = Board(tmp_path / "local", ANSWERS, TASKS, play)
    assert local_lines(local, slug) == board.path(slug).read_bytes()
    assert len(local.executed) < len(board.executed)


def test_a_local_run_in_fresh_variants_gives_the_published_lines(tmp_path: Path) -> None:
    board = FreshBoard(tmp_path / "board")
    board.publish()
    published = board.path("alice").read_bytes()
    board.project.store_path.unlink()
    assert local_lines(board, "alice") == published


def test_no_reference_runs_in_a_job_that_executes_a_submission(board: Board) -> None:
    board.prepare()
    board.executed.clear()
    board.execute()
    assert REFERENCES.isdisjoint(board.executed)
    assert board.executed.count("unsteady") == 3, "twice in the first variant, where references differ, and in the next"
    assert board.executed.count("wrong") == 4, "in each of two jobs, once more in the first variant"


def test_runs_behind_a_decision_may_be_missing_and_no_others(board: Board) -> None:
    """A bundle without a run that decides gives an infra-error, and no line. A run behind it is not missed."""
    board.prepare()
    board.execute()
    first, second = board.keys("wrong in two")
    own = {(key, run): evidence("no 0\n") for key in board.keys("wrong")[:1] for run in (0, 1)}
    for key in board.keys("unsteady", "files-2"):
        own |= {(key, run): evidence(f"{run} 0\n") for run in (0, 1)}
    outcomes = {}
    for gap, runs in {
        "none": {(first, 0): evidence("yes 0\n"), (second, 0): evidence("no 0\n")},
        "behind the decision": {(first, 0): evidence(status=9, stdout="no 0\n"), (first, 1): evidence("no 0\n")},
        "the variant that decides": {(first, 0): evidence("yes 0\n")},
        "the first variant": {(second, 0): evidence("no 0\n")},
    }.items():
        board.collect(board.bundle("alice", {**own, **runs}))
        judged = board.judge(slugs=["alice"])
        (row,) = judged.rows
        outcomes[gap] = sum(row.missing.values())
    assert outcomes == {"none": 0, "behind the decision": 0, "the variant that decides": 1, "the first variant": 1}


def test_runs_behind_a_decision_that_a_bundle_holds_change_nothing(board: Board) -> None:
    board.publish()
    published = board.path("alice").read_bytes()
    (submission,) = load_submissions(board.project, ["alice"])
    (suite,) = board.project.suites()
    with closing(Store(board.project.store_path)) as store:
        context = load_suite_context(board.project, suite, board.fingerprint, store)
        run = SubmissionRun(context, submission)
        forged = AvailableEvidence(dict.fromkeys(run.runs, evidence("yes 0\n")))
        held = board.verify("alice")
        first = {(key, 0): evidence("no 0\n") for key in board.keys("wrong")[:1]}
        second = {(key, 1): evidence("no 0\n") for key in board.keys("wrong")[:1]}
        derived = run.derive(AvailableEvidence({**forged.evidence, **first, **second}))
    assert [(file.problems, file.unknown) for file in held] == [((), 0)]
    lines = {line.command: line for line in derived.verdicts}
    failed = [line for line in board.file("alice").verdicts if line.finding.variant == "one" and line.task == "files-1"]
    assert failed
    assert [lines[line.command].finding for line in failed] == [line.finding for line in failed]
    assert board.path("alice").read_bytes() == published
    assert {line.finding.outcome for line in failed} == {Outcome.FAIL}
