"""The path from submissions to a board: the tasks that count, the results, and the standings."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import EngineError, FormatError, UsageError
from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.scored_boards import infra_errors_by_reason
from evaluator.pipeline.grading.results import answers
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.records import Evidence, Outcome, Standing
from evaluator.testing.checkouts import small_checkout, small_task, write_submission, write_suite
from evaluator.testing.evidence import added, evidence
from evaluator.testing.executor import RequestedExecution, Shows, fake_boards

TASKS = [
    small_task("files-1", references=("ls a", "echo a"), near_misses=("ls b",)),
    small_task("files-2", references=("cat b", "echo b"), near_misses=("cat a",)),
    small_task("files-3", references=("touch c", ": > c"), output="none"),
]
SHOWN: dict[str, Evidence | str] = {
    **dict.fromkeys(("ls a", "echo a", "cat a"), "a\n"),
    **dict.fromkeys(("cat b", "echo b"), "b\n"),
    "true": "",
    "touch c": evidence(changes=[added("/srv/c")]),
    ": > c": evidence(changes=[added("/srv/c")]),
    "touch c d": evidence(changes=[added("/srv/c"), added("/srv/d")]),
}
SECOND = {task.id: [task.references[1].decode()] for task in TASKS}
TRUE = {task.id: ["true"] for task in TASKS}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return small_checkout(tmp_path, TASKS, {"second": SECOND, "always-true": TRUE})


def board(project: Project) -> SuiteBoard:
    (made,) = fake_boards(project, SHOWN)
    return made


def row(project: Project, slug: str) -> Standing:
    return next(each for each in board(project).standings if each.submission == slug)


def outcomes(made: SuiteBoard, slug: str) -> list[Outcome]:
    return [each.finding.outcome for each in made.results if each.submission == slug]


def test_who_repeats_the_second_references_passes_everything(project: Project) -> None:
    standing = row(project, "second")
    assert (standing.accuracy, standing.passed, standing.asked) == (1.0, 3, 3)


def test_who_does_nothing_passes_nothing(project: Project) -> None:
    standing = row(project, "always-true")
    assert (standing.accuracy, standing.passed, standing.failed) == (0.0, 0, 3)


def test_an_unanswered_task_is_asked_all_the_same(project: Project) -> None:
    write_submission(project.root, "lazy", {"files-1": ["ls a"], "files-2": []})
    standing = row(project, "lazy")
    assert (standing.asked, standing.passed, standing.unanswered) == (3, 1, 2)
    assert standing.accuracy == pytest.approx(1 / 3)


def test_every_candidate_has_a_result_and_the_first_alone_counts(project: Project) -> None:
    write_submission(project.root, "late", {**SECOND, "files-1": ["true", "ls a"]})
    made = board(project)
    ranks = [(each.rank, each.finding.outcome) for each in made.results if each.submission == "late"][:2]
    assert ranks == [(1, Outcome.FAIL), (2, Outcome.PASS)]
    standing = next(each for each in made.standings if each.submission == "late")
    assert standing.passed == 2
    assert standing.accuracy_at == {1: pytest.approx(2 / 3), 3: 1.0, 5: 1.0}


def test_what_no_shell_can_be_given_is_invalid(project: Project) -> None:
    write_submission(project.root, "empty", {"files-1": [""], "files-2": [" \n"], "files-3": ["\t"]})
    assert outcomes(board(project), "empty") == [Outcome.INVALID] * 3


def test_who_leaves_more_behind_than_the_references_is_marked(project: Project) -> None:
    write_submission(project.root, "messy", {**SECOND, "files-3": ["touch c d"]})
    standing = row(project, "messy")
    assert standing.passed == 2
    assert standing.collateral == pytest.approx(1 / 3)


def test_a_submission_that_does_not_answer_a_suite_is_not_on_its_board(project: Project) -> None:
    write_suite(project.root, TASKS, name="other")
    write_submission(project.root, "elsewhere", SECOND, suite="other")
    boards = fake_boards(project, SHOWN)
    named = {made.manifest.name: {each.submission for each in made.standings} for made in boards}
    assert named == {"tiny": {"second", "always-true"}, "other": {"elsewhere"}}


def test_a_board_without_submissions_is_empty(tmp_path: Path) -> None:
    made = board(small_checkout(tmp_path, TASKS, {}))
    assert (made.standings, made.results, made.tasks) == ((), (), tuple(TASKS))


def test_a_failure_of_ours_leaves_the_row_unranked_and_is_counted(project: Project) -> None:
    boards = fake_boards(project, {**SHOWN, "true": EngineError("gone")})
    standing = next(each for each in boards[0].standings if each.submission == "always-true")
    assert (standing.ranked, standing.infra_errors, standing.rank_low) == (False, 3, None)
    assert infra_errors_by_reason(boards) == {"gone": 3}


def test_the_same_records_give_the_same_bytes(project: Project) -> None:
    first = [each.to_json() for each in board(project).standings]
    again = [each.to_json() for each in board(project).standings]
    assert first == again


def test_evidence_made_anew_in_any_time_gives_the_same_bytes(project: Project) -> None:
    """Durations differ between runs, and no result contains them."""

    def slower(call: RequestedExecution) -> Shows:
        shown = SHOWN[call.command]
        one = shown if isinstance(shown, Evidence) else evidence(shown)
        return one.model_copy(update={"cpu_ms": 17.0 + call.before, "wall_ms": 99.0})

    first = [each.to_json() for each in board(project).results]
    project.store_path.unlink()
    (anew,) = fake_boards(project, slower)
    assert [each.to_json() for each in anew.results] == first


def test_answers_come_by_submission_task_and_rank(project: Project) -> None:
    write_submission(project.root, "late", {"files-2": ["true", "cat b"]})
    given = answers(project.suite("tiny"), load_submissions(project, ["late"]))
    assert [(each.task.id, each.rank, each.candidate and each.candidate.command) for each in given] == [
        ("files-1", 1, None),
        ("files-2", 1, b"true"),
        ("files-2", 2, b"cat b"),
        ("files-3", 1, None),
    ]


def test_a_broken_submission_stops_scoring_with_all_its_problems(project: Project) -> None:
    folder = write_submission(project.root, "broken", SECOND)
    (folder / "tiny.jsonl").write_text('{"task": "files-1"}\n{\n')
    with pytest.raises(FormatError) as caught:
        load_submissions(project)
    assert {problem.line for problem in caught.value.problems} == {1, 2}


def test_a_submission_to_a_suite_that_is_not_here_is_said_so(project: Project) -> None:
    write_submission(project.root, "elsewhere", SECOND, suite="moon")
    with pytest.raises(FormatError, match=r"elsewhere.*moon"):
        load_submissions(project)


@pytest.mark.parametrize(
    ("slug", "words"),
    [
        ("secnod", "no submission is named 'secnod'; did you mean second?"),
        ("moon", "there are: always-true, second"),
        ("..", "no submission is named '..'"),
        ("second/../second", "no submission is named 'second/../second'"),
        ("", "no submission is named ''"),
    ],
)
def test_an_unknown_submission_is_refused_with_near_ones(project: Project, slug: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        project.submission_folder(slug)
    assert words in str(caught.value)


def test_a_long_list_of_names_is_cut(project: Project) -> None:
    for number in range(30):
        write_submission(project.root, f"system-{number:02}", SECOND)
    with pytest.raises(UsageError, match=r"system-00 … 29 more: bashboard standings$"):
        project.submission_folder("moon")
