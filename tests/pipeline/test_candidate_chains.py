"""Candidates behind one that passes: which ones run, and what a board and the store say about the others."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.errors import InfraError
from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.explain import explain_answer
from evaluator.pipeline.boards.scored_boards import plan_rescore
from evaluator.pipeline.grading.adjudications import adjudicate
from evaluator.pipeline.grading.results import final_findings
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import NullProgress
from evaluator.records import Finding, Outcome, Ruling
from evaluator.testing.checkouts import small_checkout, small_task, write_submission
from evaluator.testing.executor import RequestedExecution, Shows, fake_boards

TASKS = [small_task("files-1", references=("ls", "ls .", "ls ./"), output="set")]
RIGHT = ("ls", "ls .", "ls ./", "find", "printf", "echo", "dir")
ANSWERS = {"one": {"files-1": ["cat", "find", "echo", "cat", "printf"]}, "two": {"files-1": ["echo"]}}
CHAINS = st.lists(st.sampled_from("abcde"), max_size=6)
FINDINGS = st.dictionaries(st.sampled_from("abcde"), st.builds(Finding, outcome=st.sampled_from(Outcome)))


class Played:
    """Shows two lines, and records the commands. The lines of `RIGHT` have two orders, and both are right."""

    def __init__(self, lost: Iterable[str] = ()) -> None:
        self.commands: set[str] = set()
        self._lost = frozenset(lost)

    def __call__(self, call: RequestedExecution) -> Shows:
        self.commands.add(call.command)
        if call.command in self._lost:
            return InfraError("the engine went away")
        if call.command not in RIGHT:
            return "c\n"
        return "b\na\n" if call.command == "find" else "a\nb\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return small_checkout(tmp_path, TASKS, ANSWERS)


def scored(project: Project, play: Played, judge: str = "consensus") -> SuiteBoard:
    (board,) = fake_boards(project, play, judge)
    return board


def outcomes(board: SuiteBoard, slug: str = "one") -> list[str]:
    found = (each.finding for each in board.results if each.submission == slug)
    return [f"{each.outcome}: {each.reason}" if each.outcome is Outcome.NOT_RUN else each.outcome for each in found]


def test_candidates_run_up_to_the_first_that_passes(project: Project) -> None:
    """`echo` runs for the other submission. The second `cat` is the first one again."""
    play = Played()
    board = scored(project, play)
    assert play.commands == {*TASKS[0].model_dump(mode="json")["references"], "cat", "find", "echo"}
    assert outcomes(board) == ["fail", "pass", "not-run: candidate 2 passed", "fail", "not-run: candidate 2 passed"]
    assert outcomes(board, "two") == ["pass"]
    assert [each.run is None for each in board.results] == [False, False, True, False, True, False]
    assert all(each.error is None for each in board.results if each.finding.outcome is Outcome.NOT_RUN)
    standing = next(each for each in board.standings if each.submission == "one")
    assert (standing.accuracy_at, standing.figures.mrr) == ({1: 0.0, 3: 1.0, 5: 1.0}, 0.5)


def test_the_store_holds_no_verdict_on_what_did_not_run(project: Project) -> None:
    scored(project, Played())
    with sqlite3.connect(project.store_path) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        dump = "\n".join(database.iterdump())
    assert "verdicts" in tables
    assert "not-run" not in dump
    again = Played()
    scored(project, again)
    assert again.commands == set()


def test_a_ruling_that_fails_the_candidate_makes_the_next_one_run(project: Project) -> None:
    before, after = Played(), Played()
    scored(project, before)
    rule = {"suite": "tiny", "submission": "one", "task": "files-1", "because": "so it seems"}
    adjudicate(project, **rule, ruling=Ruling.FAIL, rank=2)
    write_submission(project.root, "one", {"files-1": ["cat", "find", "printf", "echo"]})
    assert outcomes(scored(project, after)) == ["fail", "fail", "pass", "not-run: candidate 3 passed"]
    assert after.commands == {"printf"}
    adjudicate(project, **rule, ruling=Ruling.PASS, rank=1)
    board = scored(project, never := Played())
    assert outcomes(board) == ["pass", *["not-run: candidate 1 passed"] * 3]
    assert never.commands == set()


def test_another_judge_that_fails_the_candidate_makes_the_next_one_run(project: Project) -> None:
    """The judge `exact` compares the order of lines, and `consensus` does not in a set."""
    scored(project, Played())
    play = Played()
    write_submission(project.root, "one", {"files-1": ["find", "printf", "dir"]})
    assert outcomes(scored(project, play)) == ["pass", *["not-run: candidate 1 passed"] * 2]
    assert outcomes(scored(project, play, "exact")) == ["fail", "pass", "not-run: candidate 2 passed"]
    assert play.commands == {"printf"}


def test_a_failure_of_ours_is_no_pass(project: Project) -> None:
    play = Played(lost=["cat"])
    assert outcomes(scored(project, play)) == [
        "infra-error",
        "pass",
        "not-run: candidate 2 passed",
        "infra-error",
        "not-run: candidate 2 passed",
    ]


def test_a_plan_counts_what_is_not_behind_a_known_pass(project: Project) -> None:
    """Each new chain runs at least its first candidate, in the first variant."""
    scored(project, Played())
    (suite,) = project.suites()
    assert not plan_rescore(project, suite, NullProgress(), load_submissions(project)).stale
    write_submission(project.root, "one", {"files-1": ["cat", "pwd", "date", "find", "printf"]})
    plan = plan_rescore(project, suite, NullProgress(), load_submissions(project))
    assert ([each.subject.command for each in plan.stale], plan.executions) == ([b"pwd", b"date"], 1)


def test_an_explanation_says_that_a_candidate_did_not_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It executes nothing, although the command was never executed."""
    scored(project, Played())
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    found = explain_answer(project, NullProgress(), suite="tiny", submission="one", task="files-1", rank=5)
    assert (found.command, found.finding.outcome, found.finding.reason) == (
        b"printf",
        Outcome.NOT_RUN,
        "candidate 2 passed",
    )
    assert (dict(found.trials), len(found.references)) == ({}, 3)
    assert json.loads(json.dumps(found.as_json()))["finding"]["outcome"] == "not-run"


@given(CHAINS, FINDINGS)
@example(["b", "a", "b"], {"a": Finding(outcome=Outcome.PASS)})
def test_the_final_findings_are_a_function_of_the_findings_up_to_the_pass(
    chain: list[str], findings: dict[str, Finding]
) -> None:
    """Findings behind the pass change nothing. A candidate that is neither judged nor behind a pass is missing."""
    judged = {key: each for key, each in findings.items() if each.outcome is not Outcome.NOT_RUN}
    final = final_findings(chain, judged)
    ranks = [rank for rank, key in enumerate(chain, 1) if key in judged and judged[key].outcome is Outcome.PASS]
    front = chain[: ranks[0]] if ranks else chain
    assert {key: final.get(key) for key in front} == {key: judged.get(key) for key in front}
    behind = [key for key in chain if key not in front]
    assert [final[key].reason for key in behind] == [f"candidate {ranks[0]} passed" for _ in behind if ranks]
    assert final_findings(chain, {key: each for key, each in judged.items() if key in front}) == final
