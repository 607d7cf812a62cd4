"""References in doubt and retired references: how they are found, recorded, applied and shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import FormatError, Severity, UsageError
from evaluator.judges import find_judge
from evaluator.leaderboard.board import SuiteBoard, index_board
from evaluator.leaderboard.task_page import render_task
from evaluator.pipeline.grading.adjudications import check_adjudications
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.maintenance.reference_doubts import Answerer, Doubt, distinct_models, find_doubts, write_doubts
from evaluator.pipeline.maintenance.retire_reference import retire_reference
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import NullProgress
from evaluator.records import Ending, Outcome, Task, command_digest
from evaluator.store import Store
from evaluator.suites.load import load_written_suite
from evaluator.suites.questioned_references import DOUBTS, RETIRED, doubts_of, instruction_digest, overrides_path
from evaluator.testing.checkouts import small_task, write_submission, write_suite
from evaluator.testing.evidence import added, evidence
from evaluator.testing.executor import FakeExecutor, RequestedExecution, Shows, fake_boards

REASON = "counts hidden files, which the task excludes"
SHOWN: Mapping[str, Shows] = {
    "right": "yes\n",
    "right too": "yes\n",
    "more": "yes\n",
    "other": "no\n",
    "other too": "no\n",
    "blank": "\n",
    "late": evidence(ending=Ending.TIMEOUT),
    "writes": evidence(changes=[added("/srv/x", "1")]),
}
REFERENCES = ("right", "right too", "more")


def checkout(root: Path, answers: Mapping[str, tuple[Sequence[str], str]], *tasks: Task) -> Project:
    """Write a suite with a task and submissions. `answers` maps a slug to the names of models and a command."""
    write_suite(root, tasks or [small_task("files-1", REFERENCES)])
    for slug, (models, command) in answers.items():
        write_submission(root, slug, {"files-1": [command]}, models=models)
    return Project(root)


def doubts(project: Project, play: Any = SHOWN) -> list[Doubt]:
    return find(project, FakeExecutor(play))


def find(project: Project, execute: FakeExecutor) -> list[Doubt]:
    store, suite = Store(project.store_path), project.suite("tiny")
    grader = Grader(suite, find_judge("consensus"), store, "f" * 64, execute, NullProgress(), spacing_s=0)
    found = find_doubts(grader, suite.tasks, load_submissions(project))
    store.close()
    return found


AGREEING = {"a": (["m1"], "other"), "b": (["m2"], "other too"), "c": (["m3"], "other")}


def test_three_models_that_agree_cast_doubt_on_each_reference(tmp_path: Path) -> None:
    """A doubt names the reference, the models, the agreeing commands and both behaviours."""
    found = doubts(checkout(tmp_path, AGREEING))
    assert [doubt.reference for doubt in found] == [1, 2, 3]
    first = found[0]
    assert first.models == ("m1", "m2", "m3")
    assert first.finding.outcome is Outcome.FAIL
    assert (first.expected.command, first.expected.stdout) == (b"right", b"yes\n")
    assert first.group.stdout == b"no\n"
    given = {command: [each.slug for each in answerers] for command, answerers in first.agreeing.items()}
    assert given == {b"other": ["a", "c"], b"other too": ["b"]}


@pytest.mark.parametrize(
    "answers",
    [
        {**AGREEING, "c": (["m3"], "right")},
        {**AGREEING, "c": (["m2"], "other")},
        {**AGREEING, "c": (["M2", "m4"], "other")},
        {**AGREEING, "c": ([], "other")},
        {slug: (models, "right") for slug, (models, _) in AGREEING.items()},
        {slug: (models, "blank") for slug, (models, _) in AGREEING.items()},
        {slug: (models, "late") for slug, (models, _) in AGREEING.items()},
    ],
    ids=["two agree", "one model twice", "a shared model", "no model named", "as the reference", "blank", "late"],
)
def test_less_than_three_independent_systems_cast_no_doubt(
    tmp_path: Path, answers: Mapping[str, tuple[Sequence[str], str]]
) -> None:
    """A model counts once, a submission without models does not count, and a group must show something."""
    assert doubts(checkout(tmp_path, answers)) == []


def test_a_task_that_too_few_models_answered_is_not_executed(tmp_path: Path) -> None:
    """Without three models there is nothing to compare, so no reference is executed."""
    execute = FakeExecutor(SHOWN)
    assert find(checkout(tmp_path, {name: AGREEING[name] for name in "ab"}), execute) == []
    assert execute.calls == []


def test_a_control_does_not_count(tmp_path: Path) -> None:
    """A control names no independent system, even if its manifest names a model."""
    project = checkout(tmp_path, {name: AGREEING[name] for name in "ab"})
    folder = write_submission(tmp_path, "always-true", {"files-1": ["other"]}, method="control", models=["m3"])
    manifest = folder / "submission.toml"
    manifest.write_text(manifest.read_text().replace("format = 1", "format = 2"))
    assert doubts(project) == []


def test_systems_must_agree_in_every_variant(tmp_path: Path) -> None:
    """One system that differs in the second variant leaves two systems that agree."""

    def play(call: RequestedExecution) -> Shows:
        return "other\n" if (call.command, call.variant) == ("other too", "two") else SHOWN[call.command]

    assert doubts(checkout(tmp_path, AGREEING), play) == []


def test_a_group_that_only_changes_files_casts_doubt(tmp_path: Path) -> None:
    """A changed file is something that a command shows. It is listed in the behaviour."""
    found = doubts(checkout(tmp_path, {slug: (models, "writes") for slug, (models, _) in AGREEING.items()}))
    assert found[0].group.changes == ("added /srv/x",)


def test_only_the_reference_that_differs_is_in_doubt(tmp_path: Path) -> None:
    """The references that the systems agree with are not in doubt."""
    project = checkout(tmp_path, AGREEING, small_task("files-1", ("right", "other", "other too")))
    assert [doubt.reference for doubt in doubts(project)] == [1]


def test_distinct_models_prefer_submissions_of_one_model() -> None:
    """A submission of several models must not hide the submissions of each of these models."""
    answerers = [Answerer("s", ("a", "b", "c")), *(Answerer(name, (name,)) for name in "abc")]
    assert distinct_models(answerers) == ("a", "b", "c")


def test_written_doubts_hold_no_text_and_apply_until_the_task_changes(tmp_path: Path) -> None:
    """The file has digests and models alone. A reworded task, or a reference that left, has no doubt."""
    project = checkout(tmp_path, AGREEING)
    path = write_doubts(project.suite("tiny"), doubts(project))
    assert path == tmp_path / "fixtures" / "overrides" / "tiny" / DOUBTS
    text = path.read_text()
    assert "right" not in text
    assert "other" not in text
    suite = project.suite("tiny")
    (task,) = suite.tasks
    assert [line.command_digest for line in doubts_of(suite.folder, suite.tasks)["files-1"]] == sorted(
        map(command_digest, task.references)
    )
    assert doubts_of(suite.folder, [task.model_copy(update={"nl": "Something else"})]) == {}
    assert len(doubts_of(suite.folder, [task.model_copy(update={"references": task.references[:1]})])["files-1"]) == 1


def test_a_retired_reference_is_used_no_more_and_stays_listed(tmp_path: Path) -> None:
    """The suite has a new minor version, still accepts the earlier one, and lists the reference with its reason."""
    project = checkout(tmp_path, {})
    made = retire_reference(project, "tiny", "files-1", 2, REASON)
    assert made.command == b"right too"
    suite = project.suite("tiny")
    assert suite.task("files-1").references == (b"right", b"more")
    assert [(each.command, each.because, each.version) for each in suite.retired["files-1"]] == [
        (b"right too", REASON, "1.1.0")
    ]
    assert (suite.manifest.version, suite.manifest.earlier_versions) == ("1.1.0", ("1.0.0",))
    assert load_written_suite(suite.folder).task("files-1").references == tuple(map(str.encode, REFERENCES))


def test_each_retirement_raises_the_minor_version(tmp_path: Path) -> None:
    """Two retirements make two versions. A version that `suite.toml` names later is not lowered."""
    project = checkout(tmp_path, {}, small_task("files-1", ("right", "right too", "more", "other")))
    assert [retire_reference(project, "tiny", "files-1", 1, REASON).line.version for _ in range(2)] == [
        "1.1.0",
        "1.2.0",
    ]
    manifest = project.suite("tiny").manifest
    assert (manifest.version, manifest.earlier_versions) == ("1.2.0", ("1.1.0", "1.0.0"))
    toml = project.root / "fixtures" / "tiny" / "suite.toml"
    toml.write_text(toml.read_text().replace('version = "1.0.0"', 'version = "2.0.0"'))
    assert project.suite("tiny").manifest.version == "2.0.0"


def test_verdicts_follow_from_the_remaining_references(tmp_path: Path) -> None:
    """An answer that passed only by the retired reference fails afterwards, without a new execution of references."""
    task = small_task("files-1", ("right", "right too", "other"))
    project = checkout(tmp_path, {"a": (["m1"], "other too")}, task)

    def outcome() -> Outcome:
        (board,) = fake_boards(project, SHOWN)
        (result,) = board.results
        return result.finding.outcome

    assert outcome() is Outcome.PASS
    retire_reference(project, "tiny", "files-1", 3, REASON)
    assert outcome() is Outcome.FAIL


def test_a_task_keeps_the_references_that_its_suite_requires(tmp_path: Path) -> None:
    """Two references must remain, or three if rows are compared. The refusal writes nothing."""
    sets = small_task("files-2", REFERENCES, output="set")
    project = checkout(tmp_path, {}, small_task("files-1", ("right", "more")), sets)
    with pytest.raises(UsageError, match="expected at least 2 references, but 1 of 2 would remain"):
        retire_reference(project, "tiny", "files-1", 1, REASON)
    with pytest.raises(UsageError, match="expected at least 3 references, but 2 of 3"):
        retire_reference(project, "tiny", "files-2", 1, REASON)
    assert not overrides_path(project.root / "fixtures" / "tiny", RETIRED).exists()


def test_wrong_numbers_and_reasons_are_refused(tmp_path: Path) -> None:
    """The error names the possible numbers, or the length of a reason."""
    project = checkout(tmp_path, {})
    with pytest.raises(UsageError, match="has no reference 4: expected 1 to 3"):
        retire_reference(project, "tiny", "files-1", 4, REASON)
    with pytest.raises(UsageError, match="expected 8 to 500 characters"):
        retire_reference(project, "tiny", "files-1", 1, "why")
    with pytest.raises(UsageError, match="no task 'files-9'"):
        retire_reference(project, "tiny", "files-9", 1, REASON)


def line(project: Project, command: bytes, **fields: Any) -> str:
    task = load_written_suite(project.root / "fixtures" / "tiny").task("files-1")
    values = {
        "format": 1,
        "task": "files-1",
        "instruction_digest": instruction_digest(task),
        "command_digest": command_digest(command),
        "version": "1.1.0",
        "because": REASON,
    }
    return json.dumps({**values, **fields}) + "\n"


def write_lines(project: Project, *lines: str) -> Path:
    path = overrides_path(project.root / "fixtures" / "tiny", RETIRED)
    path.parent.mkdir(parents=True)
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"because": "why"}, "because: String should have at least 8 characters"),
        ({"version": "next"}, "version: String should match"),
        ({"format": 2}, "retired.jsonl has format 2; this bashboard reads format 1"),
        ({"extra": 1}, "extra: Extra inputs are not permitted"),
    ],
)
def test_an_invalid_line_stops_the_suite_from_loading(
    tmp_path: Path, fields: Mapping[str, object], expected: str
) -> None:
    """The error names the file, the line and the expected value."""
    project = checkout(tmp_path, {})
    path = write_lines(project, line(project, b"right"), line(project, b"more", **fields))
    with pytest.raises(FormatError) as caught:
        project.suite("tiny")
    assert [(problem.path, problem.line) for problem in caught.value.problems] == [(path, 2)]
    assert expected in str(caught.value)


def test_half_a_line_and_a_repeated_line_are_refused(tmp_path: Path) -> None:
    """Each bad line is reported with its number."""
    project = checkout(tmp_path, {})
    path = write_lines(project, line(project, b"right"), line(project, b"right"), line(project, b"more")[:20])
    with pytest.raises(FormatError) as caught:
        project.suite("tiny")
    assert sorted(problem.line for problem in caught.value.problems) == [2, 3]
    assert f"{path}:2: names the reference of line 1 again" in str(caught.value)


def test_too_many_retirements_are_an_error_at_their_line(tmp_path: Path) -> None:
    """If a person wrote lines that leave too few references, the suite does not load."""
    project = checkout(tmp_path, {})
    write_lines(project, line(project, b"right"), line(project, b"more"))
    with pytest.raises(
        FormatError, match=r"retired.jsonl:1: retires too much: files-1: expected at least 2 references"
    ):
        project.suite("tiny")


def test_a_line_about_another_instruction_applies_no_more_and_is_reported(tmp_path: Path) -> None:
    """After a task is reworded its references count again, and `check` warns about the line."""
    project = checkout(tmp_path, {})
    path = write_lines(project, line(project, b"right", instruction_digest="0" * 64))
    suite = project.suite("tiny")
    assert suite.manifest.version == "1.0.0"
    assert suite.task("files-1").references == tuple(map(str.encode, REFERENCES))
    (problem,) = check_adjudications(project)
    assert (problem.path, problem.line, problem.severity) == (path, 1, Severity.WARNING)
    assert "retires nothing" in problem.message


def task_page(board: SuiteBoard) -> str:
    """Return the page of the board's first task."""
    task = board.tasks[0]
    return render_task(board, task, index_board(board).attempts([task.id])[task.id])


def test_the_page_of_a_task_says_which_references_are_questioned(tmp_path: Path) -> None:
    """The page names the reference in doubt and the models, and lists a retired reference with its reason. All of
    these texts are escaped.
    """
    answers = {"a": (["<i>m1"], "other"), "b": (["m2"], "other"), "c": (["m3"], "other")}
    project = checkout(tmp_path, answers)
    (board,) = fake_boards(project, SHOWN)
    assert "in doubt" not in task_page(board)
    write_doubts(project.suite("tiny"), doubts(project)[1:2])
    retire_reference(project, "tiny", "files-1", 1, "prints <b>more</b> than asked")
    (board,) = fake_boards(project, SHOWN)
    page = task_page(board)
    assert "<b>Reference in doubt:</b> 3 systems" in page
    assert "but not with reference 1." in page
    assert "&lt;i&gt;m1" in page
    assert "prints &lt;b&gt;more&lt;/b&gt; than asked" in page
    assert "<i>m1" not in page
