"""A maintainer's ruling outranks all judges, applies to a command in all submissions, and ends if the task changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import EngineError, FormatError, Severity, UsageError
from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.grading.adjudications import (
    Adjudicated,
    adjudicate,
    adjudication_of,
    adjudications_path,
    check_adjudications,
    rulings_of,
)
from evaluator.pipeline.project import Project
from evaluator.records import Finding, Outcome, Ruling, Step
from evaluator.testing.checkouts import small_checkout, small_task, write_submission, write_suite
from evaluator.testing.executor import Shows, fake_boards

TASKS = [small_task("files-1", references=("ls a", "echo a")), small_task("files-2", references=("cat b", "echo b"))]
SHOWN: dict[str, Shows] = {
    **dict.fromkeys(("ls a", "echo a"), "a\n"),
    **dict.fromkeys(("cat b", "echo b"), "b\n"),
    "ls -l a": "-rw a\n",
    "": "",
}
WHY = "shows the same file, and more of it"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    answers = {"files-1": ["ls -l a"], "files-2": ["cat b"]}
    return small_checkout(tmp_path, TASKS, {"first": answers, "second": answers, "third": {"files-1": ["ls a"]}})


def rule(project: Project, ruling: Ruling = Ruling.PASS, submission: str = "first", task: str = "files-1") -> None:
    adjudicate(project, suite="tiny", submission=submission, task=task, ruling=ruling, because=WHY)


def board(project: Project, shown: dict[str, Shows] = SHOWN) -> SuiteBoard:
    (made,) = fake_boards(project, shown)
    return made


def findings(project: Project, task: str = "files-1") -> dict[str, Finding]:
    return {each.submission: each.finding for each in board(project).results if each.task == task}


def lines(project: Project) -> list[dict[str, Any]]:
    return [json.loads(line) for line in adjudications_path(project, "tiny").read_text().splitlines()]


def rewrite(project: Project, *kept: dict[str, Any]) -> None:
    adjudications_path(project, "tiny").write_text("".join(f"{json.dumps(line)}\n" for line in kept))


def test_a_ruling_outranks_the_judge_for_everyone_who_gave_that_command(project: Project) -> None:
    assert {each.outcome for each in findings(project).values()} == {Outcome.FAIL, Outcome.PASS}
    rule(project)
    found = findings(project)
    assert {name: (each.outcome, each.step) for name, each in found.items()} == {
        "first": (Outcome.PASS, Step.ADJUDICATION),
        "second": (Outcome.PASS, Step.ADJUDICATION),
        "third": (Outcome.PASS, Step.EQUAL),
    }
    assert found["first"].reason == f"a maintainer ruled so: {WHY}"


@pytest.mark.parametrize(
    "spelled", ["ls  -l a\n", "ls -l a;", "ls '-l' \"a\" # x", "{ ls -l a; }", "/usr/bin/ls -l a", "ls a -l"]
)
def test_a_ruling_holds_for_every_spelling_of_its_command(project: Project, spelled: str) -> None:
    """A submission that spells the command differently has the ruling, and `adjudicate` names it."""
    write_submission(project.root, "fourth", {"files-1": [spelled]})
    made = adjudicate(project, suite="tiny", submission="first", task="files-1", ruling=Ruling.PASS, because=WHY)
    assert made.submissions == ("first", "fourth", "second")
    shown = board(project, {**SHOWN, spelled: "-rw a\n"}).results
    found = next(each.finding for each in shown if each.submission == "fourth" and each.task == "files-1")
    assert (found.outcome, found.step) == (Outcome.PASS, Step.ADJUDICATION)
    with pytest.raises(UsageError, match="rules this command pass already"):
        rule(project, submission="fourth")
    assert check_adjudications(project) == []


def test_a_line_of_format_1_rules_one_spelling(project: Project) -> None:
    """It has the digest of the command's bytes, and not the command."""
    rule(project)
    (line,) = lines(project)
    rewrite(project, {**{name: value for name, value in line.items() if name != "command"}, "format": 1})
    write_submission(project.root, "fourth", {"files-1": ["ls  -l a"]})
    shown = board(project, {**SHOWN, "ls  -l a": "-rw a\n"}).results
    found = {each.submission: each.finding for each in shown if each.task == "files-1"}
    assert (found["first"].outcome, found["fourth"].outcome) == (Outcome.PASS, Outcome.FAIL)
    rewrite(project, {**line, "command": "ls"})
    assert "command_digest: expected the SHA-256" in check_adjudications(project)[0].message


def test_a_submission_that_is_broken_keeps_no_other_from_being_ruled(project: Project) -> None:
    (project.root / "submissions" / "third" / "tiny.jsonl").write_text("{\n")
    rule(project)
    assert len(lines(project)) == 1
    with pytest.raises(FormatError, match=r"third/tiny\.jsonl:1"):
        rule(project, submission="third")


def test_a_pass_can_be_ruled_a_fail(project: Project) -> None:
    rule(project, Ruling.FAIL, task="files-2")
    assert findings(project, "files-2")["second"].outcome is Outcome.FAIL
    assert findings(project, "files-1")["third"].outcome is Outcome.PASS


def test_a_ruling_that_is_taken_back_leaves_the_judges_verdict(project: Project) -> None:
    before = findings(project)
    rule(project)
    assert findings(project) != before
    rewrite(project)
    assert findings(project) == before


def test_a_changed_ruling_is_in_force_at_once(project: Project) -> None:
    rule(project)
    findings(project)
    rewrite(project, {**lines(project)[0], "ruling": "fail"})
    assert findings(project)["first"].outcome is Outcome.FAIL


def test_no_ruling_hides_a_failure_of_ours(project: Project) -> None:
    rule(project)
    made = board(project, {**SHOWN, "ls -l a": EngineError("gone")})
    assert {each.finding.outcome for each in made.results if each.command == b"ls -l a"} == {Outcome.INFRA_ERROR}


def test_a_ruling_ends_with_the_tasks_wording(project: Project) -> None:
    rule(project)
    write_suite(project.root, [TASKS[0].model_copy(update={"nl": "Do something else"}), TASKS[1]])
    assert rulings_of(project, project.suite("tiny")) == {}
    (problem,) = check_adjudications(project)
    assert (problem.line, problem.severity) == (1, Severity.WARNING)
    assert "the words or references of files-1 changed" in problem.message


def test_a_ruling_on_a_task_that_is_gone_is_found(project: Project) -> None:
    rule(project)
    rewrite(project, {**lines(project)[0], "task": "files-9"})
    (problem,) = check_adjudications(project)
    assert "has no task files-9" in problem.message


def test_a_ruling_on_a_command_that_nobody_gives_is_found(project: Project) -> None:
    rule(project)
    for slug in ("first", "second"):
        write_submission(project.root, slug, {"files-1": ["ls a"]})
    (problem,) = check_adjudications(project)
    assert "that no submission contains any more" in problem.message


def test_what_is_given_and_ruled_once_is_in_order(project: Project) -> None:
    rule(project)
    rule(project, Ruling.FAIL, "third")
    assert check_adjudications(project) == []


def test_lines_that_contradict_each_other_are_found_and_rule_nothing(project: Project) -> None:
    rule(project)
    rewrite(project, lines(project)[0], {**lines(project)[0], "ruling": "fail"})
    (problem,) = check_adjudications(project)
    assert (problem.line, problem.severity) == (2, Severity.ERROR)
    assert "rules the command of line 1 on files-1 again: fail here, pass there" in problem.message
    with pytest.raises(FormatError, match="again"):
        findings(project)


def test_every_line_that_does_not_read_is_named(project: Project) -> None:
    rule(project)
    good = lines(project)[0]
    rewrite(project, good, {**good, "ruling": "maybe"}, {**good, "format": 3}, {**good, "because": "so"})
    found = check_adjudications(project)
    assert [problem.line for problem in found] == [2, 3, 4]
    assert "has format 3" in found[1].message


def test_a_broken_submission_does_not_keep_rulings_from_being_checked(project: Project) -> None:
    rule(project)
    rewrite(project, {**lines(project)[0], "task": "files-9"})
    (project.root / "submissions" / "first" / "tiny.jsonl").write_text("{\n")
    assert len(check_adjudications(project)) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"submission": "forth"}, "no submission is named 'forth'"),
        ({"task": "files-9"}, "no task 'files-9'"),
        ({"task": "files-2", "submission": "third"}, "third has 0 candidates for files-2"),
        ({"rank": 2}, "there is no candidate 2"),
        ({"because": "so"}, "expected 8 to 500 characters"),
    ],
)
def test_what_cannot_be_ruled_is_wrong_use(project: Project, fields: dict[str, object], message: str) -> None:
    asked: dict[str, Any] = {"submission": "first", "task": "files-1", "because": WHY, **fields}
    with pytest.raises(UsageError, match=message):
        adjudicate(project, suite="tiny", ruling=Ruling.PASS, **asked)
    assert not adjudications_path(project, "tiny").exists()


def test_a_command_is_ruled_once(project: Project) -> None:
    rule(project)
    with pytest.raises(UsageError, match=r"adjudications\.jsonl:1: rules this command pass already"):
        rule(project, Ruling.FAIL, "second")


def test_who_gave_the_command_is_told(project: Project) -> None:
    made = adjudicate(project, suite="tiny", submission="second", task="files-1", ruling=Ruling.PASS, because=WHY)
    assert (made.command, made.submissions) == (b"ls -l a", ("first", "second"))
    assert made.path == project.root / "fixtures" / "overrides" / "tiny" / "adjudications.jsonl"


def made_for_first(project: Project, present: bytes | None = None) -> Adjudicated:
    return adjudication_of(
        project, suite="tiny", submission="first", task="files-1", ruling=Ruling.PASS, because=WHY, present=present
    )


def test_what_would_be_ruled_is_known_without_writing_it(project: Project) -> None:
    made = made_for_first(project)
    assert not made.path.exists()
    rule(project)
    assert made.path.read_bytes() == made.content


def test_a_line_joins_those_that_stand_elsewhere(project: Project) -> None:
    rule(project, Ruling.FAIL, "third")
    there = adjudications_path(project, "tiny").read_bytes()
    rewrite(project)
    made = made_for_first(project, there)
    assert sorted(json.loads(line)["ruling"] for line in made.content.splitlines()) == ["fail", "pass"]
