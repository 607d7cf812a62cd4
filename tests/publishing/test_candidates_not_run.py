"""Tests of candidates behind one that passes: they are not executed, and run as soon as it passes no more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.judges import find_judge
from evaluator.pipeline.boards.published_boards import NO_VERDICT, published_results
from evaluator.pipeline.evidence.bundle import bundle_path, read_bundle, write_bundle
from evaluator.pipeline.grading.adjudications import adjudicate
from evaluator.pipeline.grading.results import answers
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes
from evaluator.pipeline.publishing.diff_verdicts import changes_of
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.records import Finding, Outcome, PublishedVerdict, Ruling, Step, command_digest
from evaluator.store import Store
from evaluator.testing.checkouts import write_submission
from tests.doubles.model_server import JudgeServer, says
from tests.publishing.judging_harness import WITH_KEY, Board, asking, copy_of

ANSWERS = {"alice": {"files-1": ["mine", "shared"], "files-2": ["wrong"]}, "bob": {"files-1": ["shared"]}}
NOT_RUN = Finding(outcome=Outcome.NOT_RUN, reason="candidate 1 passed")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Board:
    """A published board. Alice's second candidate for `files-1` is behind one that passes."""
    board = Board(tmp_path_factory.mktemp("published") / "board", ANSWERS)
    board.publish()
    return board


@pytest.fixture
def board(done: Board, tmp_path: Path) -> Board:
    return copy_of(done, tmp_path / "board")


def line(board: Board, command: str, task: str = "files-1", slug: str = "alice") -> PublishedVerdict:
    return board.file(slug).by_command[task, command_digest(command.encode())]


def rule(board: Board, command_of: str, ruling: Ruling, rank: int = 1) -> None:
    adjudicate(
        board.project,
        suite="tiny",
        submission=command_of,
        task="files-1",
        ruling=ruling,
        because="so it seems",
        rank=rank,
    )


def write(board: Board, change: Callable[[PublishedVerdict], PublishedVerdict], **header: object) -> None:
    """Change lines of Alice's verdict file by hand."""
    file = board.file("alice")
    changed = VerdictFile(file.header.model_copy(update=header), tuple(map(change, file.verdicts)))
    board.path("alice").write_bytes(verdict_bytes(changed))


def with_finding(command: str, finding: Finding) -> Callable[[PublishedVerdict], PublishedVerdict]:
    digest = command_digest(command.encode())
    run = {"run": None} if finding.outcome is Outcome.NOT_RUN else {}
    return lambda each: each.model_copy(update={"finding": finding, **run}) if each.command == digest else each


def without_evidence_of(board: Board, command: str) -> None:
    """Remove the evidence of a command from Alice's published bundle."""
    path = board.fetched / bundle_path("tiny", "alice")
    bundle = read_bundle(path.read_bytes(), suite="tiny", submission="alice", expected=None)
    kept = tuple(each for each in bundle.evidence if each.key not in board.keys(command))
    assert len(kept) < len(bundle.evidence)
    path.write_bytes(write_bundle(type(bundle)(bundle.header, kept, bundle.replies)))


def test_a_candidate_behind_a_pass_has_a_line_and_no_run(done: Board) -> None:
    assert line(done, "shared").finding == NOT_RUN
    assert line(done, "shared").run is None
    assert line(done, "shared", slug="bob").finding.outcome is Outcome.FAIL
    bundle = (done.fetched / bundle_path("tiny", "alice")).read_bytes()
    evidence = read_bundle(bundle, suite="tiny", submission="alice", expected=None).evidence
    assert {each.key for each in evidence}.isdisjoint(done.keys("shared"))
    assert done.executed.count("shared") == 1  # for Bob: it fails in the first variant, and the references are steady
    assert not done.plan().due
    assert [(each.held, each.problems) for each in done.verify("alice")] == [(3, ())]


def test_evidence_of_a_candidate_behind_a_pass_changes_nothing(board: Board) -> None:
    paths = {slug: board.fetched / bundle_path("tiny", slug) for slug in ANSWERS}
    alice, bob = (
        read_bundle(path.read_bytes(), suite="tiny", submission=slug, expected=None) for slug, path in paths.items()
    )
    paths["alice"].write_bytes(write_bundle(type(alice)(alice.header, (*alice.evidence, *bob.evidence), ())))
    before = board.path("alice").read_bytes()
    board.path("alice").unlink()
    board.publish()
    assert board.path("alice").read_bytes() == before


def test_a_ruling_that_fails_the_candidate_makes_the_next_one_run(board: Board) -> None:
    rule(board, "alice", Ruling.FAIL)
    (work,) = board.plan().due
    assert (work.changed, work.missing, work.executions) == (("files-1",), ("files-1",), 1)
    assert "1 not run because of a candidate that passes no more" in work.words
    (verified,) = board.verify("alice")
    assert (verified.held, verified.awaiting, verified.problems) == (1, 2, ())
    board.publish()
    assert board.executed.count("shared") == 1
    assert line(board, "mine").finding.step is Step.ADJUDICATION
    assert line(board, "shared").finding.outcome is Outcome.FAIL
    assert not board.plan().due
    assert [(each.held, each.problems) for each in board.verify("alice")] == [(3, ())]


def test_a_ruling_that_passes_a_candidate_makes_the_next_ones_not_run(board: Board) -> None:
    write_submission(board.root, "alice", {"files-1": ["shared", "mine"], "files-2": ["wrong"]})
    board.publish()
    assert (line(board, "shared").finding.outcome, line(board, "mine").finding.outcome) == (Outcome.FAIL, Outcome.PASS)
    executed = len(board.executed)
    rule(board, "alice", Ruling.PASS)
    board.publish()
    assert line(board, "mine").finding == NOT_RUN
    assert len(board.executed) == executed
    assert not board.plan().due
    assert [(each.held, each.problems) for each in board.verify("alice")] == [(3, ())]


def test_a_rescore_by_another_judge_makes_the_next_candidate_run(board: Board) -> None:
    """An earlier version of the judge passed `shared`, so `mine` did not run. Today's version fails `shared`."""
    write_submission(board.root, "alice", {"files-1": ["shared", "mine"], "files-2": ["wrong"]})
    board.publish()
    whole = board.path("alice").read_bytes()
    passed = line(board, "shared").finding.model_copy(update={"outcome": Outcome.PASS})
    write(board, with_finding("shared", passed), judge_version=0)
    write(board, with_finding("mine", NOT_RUN))
    without_evidence_of(board, "mine")
    executed = len(board.executed)
    assert not [work for work in board.plan().due if work.submission == "alice"]
    (work,) = board.plan(stale=True).due
    assert (work.submission, work.executions) == ("alice", 1)
    board.publish(stale=True)
    assert set(board.executed[executed:]) >= {"mine"}
    assert board.path("alice").read_bytes() == whole


def test_a_panel_that_passes_no_more_gives_the_next_candidate_its_verdict(tmp_path: Path) -> None:
    """The judge leaves the first candidate open, so the second one ran. It is not run only if the panel passes."""
    with JudgeServer(says("yes")) as server:
        board = asking(tmp_path, server.url, {"alice": {"files-1": ["open", "one", "two"]}})
        board.prepare()
        board.execute()
        assert {"open", "one"} <= set(board.executed)
        board.land(board.judge(use=WITH_KEY).archive)
        asked = len(server.asked)
        assert (line(board, "open").finding.step, line(board, "one").finding) == (Step.PANEL, NOT_RUN)
        assert not board.plan().due
        assert [(each.held, each.problems) for each in board.verify()] == [(4, ())]
    assert asked == 1
    with JudgeServer(says("no")) as server:
        settings = board.root / "pyproject.toml"
        settings.write_text(f'[tool.bashboard.panel]\nbase_url = "{server.url}"\nmodels = ["another"]\nvotes = 1\n')
        board.project = type(board.project)(board.root)
        executed = len(board.executed)
        (work,) = board.plan(stale=True).due
        assert work.executions == 0
        board.land(board.judge(use=WITH_KEY, stale=True).archive)
    assert (line(board, "open").finding.outcome, line(board, "one").finding.outcome) == (Outcome.FAIL, Outcome.PASS)
    assert line(board, "two").finding.reason == "candidate 2 passed"
    assert len(board.executed) == executed
    assert [(each.held, each.problems) for each in board.verify()] == [(4, ())]


def test_candidates_in_another_order_run_as_their_order_asks(board: Board) -> None:
    write_submission(board.root, "alice", {"files-1": ["shared", "mine"], "files-2": ["wrong"]})
    (work,) = board.plan().due
    assert (work.new, work.changed, work.missing, work.executions) == ((), (), ("files-1",), 1)
    board.publish()
    assert (line(board, "shared").finding.outcome, line(board, "mine").finding.outcome) == (Outcome.FAIL, Outcome.PASS)
    write_submission(board.root, "alice", {"files-1": ["mine", "shared"], "files-2": ["wrong"]})
    (work,) = board.plan().due
    assert (work.new, work.changed, work.missing, work.executions) == ((), ("files-1",), (), 0)
    board.publish()
    assert line(board, "shared").finding == NOT_RUN


FAILED = Finding(outcome=Outcome.FAIL, step=Step.OUTPUT, reason="by hand")


@pytest.mark.parametrize("finding", [FAILED, NOT_RUN.model_copy(update={"reason": "candidate 4 passed"})])
def test_a_line_behind_a_pass_that_says_something_else_is_named_and_put_right(board: Board, finding: Finding) -> None:
    before = board.path("alice").read_bytes()
    write(board, with_finding("shared", finding))
    (found,) = board.verify("alice")
    (problem,) = found.problems
    assert problem.line == board.file("alice").line_of("files-1", command_digest(b"shared"))
    assert problem.message.endswith("expected not-run: candidate 1 passed")
    (work,) = board.plan().due
    assert (work.changed, work.executions) == (("files-1",), 0)
    board.publish()
    assert board.path("alice").read_bytes() == before


def test_a_line_before_the_pass_that_says_not_run_is_named_and_run(board: Board) -> None:
    write_submission(board.root, "alice", {"files-1": ["shared", "mine"], "files-2": ["wrong"]})
    board.publish()
    before = board.path("alice").read_bytes()
    write(board, with_finding("shared", NOT_RUN))
    without_evidence_of(board, "shared")
    (found,) = board.verify("alice")
    (problem,) = found.problems
    assert problem.line == board.file("alice").line_of("files-1", command_digest(b"shared"))
    assert problem.message.endswith("no candidate before it passes")
    (work,) = board.plan().due
    assert (work.missing, work.executions) == (("files-1",), 1)
    board.publish()
    assert board.path("alice").read_bytes() == before


def test_a_line_without_any_pass_makes_the_file_invalid(board: Board) -> None:
    text = board.path("alice").read_text()
    failed = text.replace('"outcome":"pass"', '"outcome":"fail"')
    assert failed != text
    board.path("alice").write_text(failed)
    (found,) = board.verify("alice")
    number = 1 + next(place for place, each in enumerate(failed.splitlines()) if "not-run" in each)
    assert [(each.line, each.message) for each in found.problems] == [
        (number, "finding.outcome: not run, but no command of files-1 passes")
    ]
    board.publish()
    assert board.path("alice").read_text() == text


def test_a_board_reads_the_lines_by_the_order_of_the_candidates(board: Board) -> None:
    """A line that says "not run" is no verdict if the submission now lists its command before the one that passes."""
    (suite,) = board.project.suites()

    def outcomes(*commands: str) -> list[Finding]:
        write_submission(board.root, "alice", {"files-1": list(commands), "files-2": ["wrong"]})
        (alice,) = load_submissions(board.project, ["alice"])
        store = Store(board.project.store_path)
        results = published_results(suite, list(answers(suite, [alice])), {"alice": board.file("alice")}, store)
        store.close()
        assert all(each.run is None for each in results if each.finding.outcome is Outcome.NOT_RUN)
        return [each.finding for each in results if each.task == "files-1"]

    assert outcomes("mine", "shared") == [line(board, "mine").finding, NOT_RUN]
    assert outcomes("mine", "never judged") == [line(board, "mine").finding, NOT_RUN]
    assert outcomes("shared", "mine") == [NO_VERDICT, line(board, "mine").finding]
    assert outcomes("shared") == [NO_VERDICT]


def test_a_change_of_what_is_not_run_has_a_reason(board: Board) -> None:
    before = board.file("alice")
    rule(board, "alice", Ruling.FAIL)
    board.publish()
    (suite,) = board.project.suites()
    submissions = load_submissions(board.project, ["alice"])
    store, judge = Store(board.project.store_path), find_judge("consensus")
    found = changes_of(suite, submissions, {"alice": before}, {"alice": board.file("alice")}, store, judge)
    back = changes_of(suite, submissions, {"alice": board.file("alice")}, {"alice": before}, store, judge)
    store.close()
    assert found.kinds == {"not-run → fail": 1, "pass → fail": 1}
    assert [flip.why for flip in found.flips if flip.rank == 2] == [("a candidate before it passes no more",)]
    assert [flip.why for flip in back.flips if flip.rank == 2] == [("a candidate before it passes now",)]
