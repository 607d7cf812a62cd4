"""Tests of the ranking: which rows have a rank, which rows are only listed, and which differences are significant."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import UsageError
from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.compare import compare, compare_on
from evaluator.pipeline.project import Project
from evaluator.progress import NullProgress
from evaluator.records import Standing, SubmissionComparison, Unranked
from evaluator.testing.checkouts import small_checkout, small_task, write_submission, write_suite
from evaluator.testing.executor import fake_boards

TASKS = [small_task(f"files-{number}", references=(f"echo {number}", f"ls {number}")) for number in range(1, 9)]
SHOWN = {
    "true": "",
    **{f"{word} {number}": f"{number}\n" for number in range(1, 9) for word in ("echo", "ls")},
}
RIGHT = {task.id: [task.references[0].decode()] for task in TASKS}
NOTHING = {task.id: ["true"] for task in TASKS}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return small_checkout(
        tmp_path, TASKS, {"good": RIGHT, "bad": NOTHING, "half": {**NOTHING, **dict(list(RIGHT.items())[:4])}}
    )


def standings(project: Project) -> dict[str, Standing]:
    (board,) = fake_boards(project, SHOWN)
    return {row.submission: row for row in board.standings}


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_system_apart_begins_the_next_group_and_says_against_whom(project: Project) -> None:
    """A system that is significantly worse begins a new tie group, and its row names the system it was compared with.

    A difference of eight tasks to none is significant. A difference of four tasks to none is not.
    """
    rows = standings(project)
    assert [(slug, row.tie_group, row.compared_with) for slug, row in rows.items()] == [
        ("good", 1, None),
        ("half", 1, "good"),
        ("bad", 2, "good"),
    ]
    assert (rows["bad"].only_this, rows["bad"].only_other, rows["bad"].p_value) == (0, 8, 2 / 2**8)
    assert rows["half"].p_adjusted == pytest.approx(0.125)


def test_a_control_is_listed_without_a_rank_and_takes_nobodys(project: Project) -> None:
    """A control submission is listed last without a rank, and the ranks of the other rows do not change."""
    folder = write_submission(project.root, "second-reference", RIGHT)
    rewrite(folder / "submission.toml", 'method = "other"', 'method = "control"')
    rewrite(folder / "submission.toml", "format = 1", "format = 2")
    rows = standings(project)
    assert list(rows)[-1] == "second-reference"
    control = rows["second-reference"]
    assert (control.ranked, control.unranked, control.tie_group) == (False, Unranked.CONTROL, None)
    assert (rows["good"].rank_low, rows["half"].compared_with) == (1, "good")


def test_tasks_newer_than_the_version_answered_are_not_asked_and_the_row_is_unranked(project: Project) -> None:
    """A submission for version 1.0.0 is judged by the tasks of 1.0.0 only, and its row has no rank.

    A wrong answer to a later task does not count.
    """
    suite = project.root / "fixtures" / "tiny"
    rewrite(suite / "suite.toml", 'format = 1\nname = "tiny"\nversion = "1.0.0"', HEAD_OF_SUITE)
    lines = (suite / "tasks" / "files.jsonl").read_text().splitlines()
    (suite / "tasks" / "files.jsonl").write_text(
        "\n".join([*lines[:-1], lines[-1][:-1] + ', "since": "2.0.0"}']) + "\n"
    )
    write_submission(project.root, "new", RIGHT, version="2.0.0")
    rows = standings(project)
    assert {slug: (row.asked, row.not_asked, row.unranked) for slug, row in rows.items()} == {
        "new": (8, 0, None),
        "good": (7, 1, Unranked.NOT_ASKED),
        "half": (7, 1, Unranked.NOT_ASKED),
        "bad": (7, 1, Unranked.NOT_ASKED),
    }


HEAD_OF_SUITE = 'format = 3\nname = "tiny"\nversion = "2.0.0"\nearlier_versions = ["1.0.0"]'


def board(project: Project) -> SuiteBoard:
    (made,) = fake_boards(project, SHOWN)
    return made


def compared(project: Project, first: str, second: str) -> SubmissionComparison:
    board(project)
    (found,) = compare(project, NullProgress(), first, second)
    return found


def test_a_comparison_counts_every_task_once_and_names_what_tells_the_two_apart(project: Project) -> None:
    """A comparison counts every task once, in total, by topic and by utility, and lists the tasks with different
    outcomes.
    """
    found = compared(project, "good", "half")
    assert list(found.counts.model_dump().values()) == [4, 4, 0, 0]
    assert [pair.task for pair in found.tasks] == ["files-5", "files-6", "files-7", "files-8"]
    assert (found.tasks[0].first.outcome, found.tasks[0].second.outcome) == ("pass", "fail")
    assert found.topics == {"files": found.counts}
    assert found.utilities == {"echo": found.counts, "ls": found.counts}
    assert (found.difference, found.p_value, found.left_out) == (0.5, 0.125, 0)


def test_the_other_way_round_is_the_mirror(project: Project) -> None:
    """A comparison in the other direction has the opposite sign and swapped sides, but the same p-value."""
    there, made = compared(project, "good", "half"), board(project)
    back = compare_on(made, "half", "good")
    assert (back.counts.only_first, back.counts.only_second) == (there.counts.only_second, there.counts.only_first)
    assert (-back.difference_high, -back.difference_low) == pytest.approx((there.difference_low, there.difference_high))
    assert (back.p_value, len(back.tasks)) == (there.p_value, len(there.tasks))


def test_two_that_answer_no_suite_both_are_told_what_they_answer(project: Project) -> None:
    """Two submissions without a common suite cannot be compared. The error names the suites of each submission."""
    write_suite(project.root, TASKS, name="other")
    write_submission(project.root, "elsewhere", RIGHT, suite="other")
    with pytest.raises(UsageError, match="a common suite: good answers tiny; elsewhere answers other"):
        compare(project, NullProgress(), "good", "elsewhere")
    with pytest.raises(UsageError, match="elsewhere does not answer suite tiny; it answers: other"):
        compare(project, NullProgress(), "good", "elsewhere", suites=["tiny"])
