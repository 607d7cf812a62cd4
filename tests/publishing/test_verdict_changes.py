"""Tests of the comparison of published verdicts with a commit: moved rows, flipped verdicts, and the reasons."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import FormatError, UsageError
from evaluator.github.comment.rescore_table import rescore_table
from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.published_boards import published_boards
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.diff_verdicts import changes_since, committed_files
from evaluator.records import Finding, Outcome, Step, SuiteDiff, VerdictDiff, digest_of
from evaluator.testing.checkouts import small_checkout, small_task, write_submission
from evaluator.testing.executor import Shows, fake_boards
from evaluator.testing.verdict_files import JUDGE, verdict_file, write_verdicts

TASKS = [small_task(f"files-{number}", references=(f"ls {number}", f"echo {number}")) for number in range(1, 5)]
SHOWN: dict[str, Shows] = {f"{verb} {number}": f"{number}\n" for verb in ("ls", "echo") for number in range(1, 5)}
RIGHT = {task.id: [task.references[1].decode()] for task in TASKS}
ANSWERS = {
    "good": RIGHT,
    "half": {**RIGHT, "files-1": ["true", "ls 1"], "files-2": ["true"]},
    "still": {task.id: ["true"] for task in TASKS},
}


def git(project: Project, *words: str) -> str:
    settings = ("-c", "user.name=Bashboard", "-c", "user.email=bashboard@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *settings, *words], cwd=project.root, check=True, capture_output=True, text=True)
    return done.stdout


def commit(project: Project) -> str:
    git(project, "add", "--force", "--", "submissions")
    git(project, "commit", "--quiet", "--allow-empty", "-m", "Verdicts")
    return git(project, "rev-parse", "HEAD").strip()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, SuiteBoard]:
    """A checkout under Git and its board. The verdicts of all submissions but `still` are published and committed."""
    project = small_checkout(tmp_path_factory.mktemp("committed"), TASKS, ANSWERS)
    (board,) = fake_boards(project, {**SHOWN, "true": ""})
    for slug in ("good", "half"):
        write_verdicts(project, board, slug)
    git(project, "init", "--quiet")
    commit(project)
    return project, board


@pytest.fixture
def project(made: tuple[Project, SuiteBoard], tmp_path: Path) -> Project:
    return Project(shutil.copytree(made[0].root, tmp_path / "copy"))


@pytest.fixture
def board(made: tuple[Project, SuiteBoard]) -> SuiteBoard:
    return made[1]


def flipped(file: VerdictFile, outcomes: Mapping[str, Finding], **fields: Any) -> VerdictFile:
    """Return a verdict file with other findings for these tasks. Verdicts with the same outcome do not change."""
    verdicts = tuple(
        each.model_copy(update={"finding": outcomes[each.task], **fields})
        if each.task in outcomes and each.finding.outcome is not outcomes[each.task].outcome
        else each
        for each in file.verdicts
    )
    return VerdictFile(file.header, tuple(sorted(verdicts, key=lambda each: each.key)))


def republish(project: Project, slug: str, file: VerdictFile) -> None:
    verdicts_path(project, slug, "tiny").write_bytes(verdict_bytes(file))


def changed(project: Project, since: str = "HEAD") -> SuiteDiff:
    (only,) = changes_since(project, since).suites
    return only


PASS = Finding(outcome=Outcome.PASS, step=Step.EQUAL, reason="shows the same as reference 1")
OPEN = Finding(outcome=Outcome.UNDECIDED, step=Step.OUTPUT, reason="another | layout `of` @somebody")


def test_files_as_they_are_committed_change_nothing(project: Project, board: SuiteBoard) -> None:
    """If all verdict files equal the committed files, there are no changes and no suite is listed."""
    assert changes_since(project, "HEAD") == VerdictDiff(format=1)
    assert rescore_table(VerdictDiff(format=1)) == "No published verdict changes.\n"


def test_a_row_moves_by_what_flips(project: Project, board: SuiteBoard) -> None:
    """The accuracy and ranks before and after a change equal those of the two boards. Rows that do not move are listed
    too.
    """
    (before,) = published_boards(project).boards
    republish(project, "half", flipped(verdict_file(board, "half"), {"files-1": PASS, "files-2": PASS}))
    (after,) = published_boards(project).boards
    found = changed(project)
    rows = {row.submission: row for row in found.rows}
    for boards, name in ((before, "before"), (after, "after")):
        for row in boards.standings:
            place = getattr(rows[row.submission], name)
            assert (place.accuracy, place.rank_low, place.rank_high) == (row.accuracy, row.rank_low, row.rank_high)
    half = rows["half"]
    assert half.before is not None
    assert half.after is not None
    assert (half.before.passed, half.after.passed) == (2, 4)
    assert {slug for slug, row in rows.items() if row.is_moved} == {
        row.submission
        for row, other in zip(before.standings, after.standings, strict=True)
        if row.submission == "half" or (row.rank_low, row.rank_high) != (other.rank_low, other.rank_high)
    }
    assert found.kinds == {"fail → pass": 2}


def test_each_flip_says_what_was_found_before_and_after(project: Project, board: SuiteBoard) -> None:
    """A flip lists the task, the candidate, the command and both findings."""
    republish(project, "half", flipped(verdict_file(board, "half"), {"files-1": OPEN}))
    found = changed(project)
    (first, second) = found.flips
    assert (first.submission, first.task, first.rank, first.command, first.size) == ("half", "files-1", 1, b"true", 4)
    assert (first.before.outcome, first.after) == (Outcome.FAIL, OPEN)
    assert (second.rank, second.before.outcome, second.after) == (2, Outcome.PASS, OPEN)
    assert found.kinds == {"fail → undecided": 1, "pass → undecided": 1}


RULED = Finding(outcome=Outcome.PASS, step=Step.ADJUDICATION, reason="a maintainer ruled so: sorts as asked")
VOTED = Finding(outcome=Outcome.PASS, step=Step.PANEL, reason="3 of 3 votes")
OTHER_KEY = {"key": digest_of(b"another")}
WHY: list[tuple[Finding, dict[str, Any], dict[str, str], list[str]]] = [
    (PASS, {}, {}, ["nothing that its key names: look into it"]),
    (PASS, {}, OTHER_KEY, ["its key: the task or its world, a reference, a ruling or a mark"]),
    (PASS, {"judge_version": 99}, OTHER_KEY, [f"judge: consensus {JUDGE.version} → consensus 99"]),
    (
        PASS,
        {"suite_version": "1.1.0", "fingerprint": "a" * 64},
        OTHER_KEY,
        ["suite: 1.0.0 → 1.1.0", "environment: ffffffff → aaaaaaaa"],
    ),
    (RULED, {}, OTHER_KEY, ["a maintainer's ruling"]),
    (
        RULED,
        {"judge": "exact"},
        OTHER_KEY,
        ["a maintainer's ruling", f"judge: consensus {JUDGE.version} → exact {JUDGE.version}"],
    ),
    (VOTED, {}, {}, ["what the panel said"]),
]


@pytest.mark.parametrize(("finding", "header", "key", "why"), WHY)
def test_a_flip_says_why(
    project: Project, board: SuiteBoard, finding: Finding, header: dict[str, Any], key: dict[str, str], why: list[str]
) -> None:
    """The reason of a flip follows from the headers, from the key, or from the step that decided."""
    file = flipped(verdict_file(board, "half", **header), {"files-2": finding}, **key)
    republish(project, "half", file)
    (flip,) = changed(project).flips
    assert list(flip.why) == why


def test_a_ruling_that_is_taken_back_is_told(project: Project, board: SuiteBoard) -> None:
    """A flip names a withdrawn ruling or a changed ruling as its reason."""
    republish(project, "half", flipped(verdict_file(board, "half"), {"files-2": RULED}))
    since = commit(project)
    write_verdicts(project, board, "half")
    assert [each.why for each in changed(project, since).flips] == [("a ruling that holds no more",)]
    overruled = RULED.model_copy(update={"outcome": Outcome.FAIL})
    republish(
        project, "half", flipped(flipped(verdict_file(board, "half"), {"files-2": RULED}), {"files-2": overruled})
    )
    assert [each.why for each in changed(project, since).flips] == [("another ruling of a maintainer",)]


def test_another_panel_is_told(project: Project, board: SuiteBoard) -> None:
    """A flip names a changed panel as its reason. A published line identifies the panel by a digest."""
    republish(project, "half", flipped(verdict_file(board, "half"), {"files-2": VOTED}, panel="a" * 64))
    since = commit(project)
    file = flipped(verdict_file(board, "half"), {"files-2": VOTED}, panel="b" * 64)
    against = VOTED.model_copy(update={"outcome": Outcome.FAIL})
    republish(project, "half", flipped(file, {"files-2": against}))
    (flip,) = changed(project, since).flips
    assert flip.why == ("the panel: others vote, or they are asked otherwise",)


def test_verdicts_that_come_go_or_are_reasoned_otherwise_are_counted(project: Project, board: SuiteBoard) -> None:
    """Added verdicts, removed verdicts and verdicts with another reason are counted separately and are no flips."""
    write_verdicts(project, board, "still")
    file = verdict_file(board, "half")
    kept = [each for each in file.verdicts if each.task != "files-1"]
    other = Finding(outcome=Outcome.FAIL, step=Step.FILES, reason="otherwise")
    kept = [each.model_copy(update={"finding": other}) if each.task == "files-2" else each for each in kept]
    republish(project, "half", VerdictFile(file.header, tuple(kept)))
    found = changed(project)
    assert (found.flips, found.given, found.gone, found.reasoned) == ((), 4, 2, 1)
    rows = {row.submission: row for row in found.rows}
    assert rows["still"].before is None
    assert rows["still"].after is not None


def test_only_what_is_committed_counts_as_before(project: Project, board: SuiteBoard) -> None:
    """Only the files of the commit count as the earlier state, even if a file was deleted or added in the checkout."""
    verdicts_path(project, "good", "tiny").unlink()
    write_verdicts(project, board, "still")
    assert sorted(committed_files(project, "HEAD")["tiny"]) == ["good", "half"]
    assert committed_files(project, "HEAD")["tiny"]["half"] == verdict_file(board, "half")


@pytest.mark.parametrize("commit", ["--upload-pack=x", "nowhere", "", "HEAD:submissions", "-h", "HEAD^{tree}"])
def test_what_is_no_commit_is_refused(project: Project, board: SuiteBoard, commit: str) -> None:
    """A name that is not a commit is refused, including an option of Git."""
    with pytest.raises(UsageError, match="expected a commit of this checkout"):
        changes_since(project, commit)


def test_a_committed_file_that_does_not_read_is_told_at_its_line(project: Project, board: SuiteBoard) -> None:
    """An unreadable verdict file in the commit is reported with its line, as a file in the checkout is."""
    verdicts_path(project, "good", "tiny").write_text("nonsense\n")
    since = commit(project)
    write_verdicts(project, board, "good")
    with pytest.raises(FormatError, match=r"submissions/good/tiny\.verdicts\.jsonl:1: "):
        changes_since(project, since)


def test_a_link_is_no_verdict_file(project: Project, board: SuiteBoard) -> None:
    """A symbolic link in the commit is not read as a verdict file."""
    path = verdicts_path(project, "still", "tiny")
    path.symlink_to("../good/tiny.verdicts.jsonl")
    since = commit(project)
    path.unlink()
    assert sorted(committed_files(project, since)["tiny"]) == ["good", "half"]


# -- as Markdown


def test_the_text_tells_rows_and_flips(project: Project, board: SuiteBoard) -> None:
    """The Markdown text lists rows and flips.

    Text of a submission is shown as code, so that `|` does not end a table cell and `@team` is not a mention.
    """
    write_submission(project.root, "half", {**ANSWERS["half"], "files-2": ["true | @team `x`"]})
    played = {**SHOWN, "true": "", "true | @team `x`": ""}
    (anew,) = fake_boards(project, played)
    write_verdicts(project, anew, "half")
    since = commit(project)
    republish(project, "half", flipped(verdict_file(anew, "half", judge_version=99), {"files-2": OPEN}))
    text = rescore_table(changes_since(project, since))
    lines = text.splitlines()
    assert "- `fail → undecided`: 1" in lines
    row = next(line for line in lines if line.startswith("| `half` | 50.0 %"))
    assert row.split(" | ")[1:3] == ["50.0 %", "50.0 %"]
    flip = next(line for line in lines if line.startswith("| `files-2`"))
    assert flip.count(" | ") == 4
    assert "`` true \\x7c @team `x` ``" in flip
    assert "output: ``another \\x7c layout `of` @somebody``" in flip
    assert f"Why: `judge: consensus {JUDGE.version} → consensus 99`." in lines


def test_reasons_that_differ_stand_in_a_column(project: Project, board: SuiteBoard) -> None:
    """If flips of one kind have different reasons, the table has a column for the reason.

    If they have the same reason, the reason is given once and the table has no such column.
    """
    file = flipped(verdict_file(board, "good"), {"files-1": OPEN})
    republish(project, "good", flipped(file, {"files-2": OPEN}, key=digest_of(b"another")))
    lines = rescore_table(changes_since(project, "HEAD")).splitlines()
    assert "| Task | Submission | Command | Before | After | Why |" in lines
    whys = {line.split(" | ")[-1] for line in lines if line.startswith("| `files-")}
    assert len(whys) == 2


def test_a_text_that_is_too_long_loses_its_longest_parts_by_name(project: Project, board: SuiteBoard) -> None:
    """A text that is too long omits its longest parts and names them, but keeps the totals."""
    republish(project, "half", flipped(verdict_file(board, "half"), {"files-1": OPEN, "files-2": PASS}))
    changes = changes_since(project, "HEAD")
    whole = rescore_table(changes)
    cut = rescore_table(changes, len(whole.encode()) - 1)
    assert len(cut.encode()) < len(whole.encode())
    assert "**2 of 2 rows** move" in cut or "**1 of 2 rows** moves" in cut
    assert "_Left out, because GitHub accepts no longer text: " in cut
    with pytest.raises(ValueError, match="the shortest text has"):
        rescore_table(changes, 80)


def test_thousands_of_flips_fit_into_a_pull_request(project: Project, board: SuiteBoard) -> None:
    """A text with 3,000 flips lists the first flips of every kind and stays below GitHub's limit of 65,536 bytes."""
    republish(project, "half", flipped(verdict_file(board, "half"), {"files-2": OPEN}))
    (suite,) = changes_since(project, "HEAD").suites
    reason = Finding(outcome=Outcome.FAIL, step=Step.OUTPUT, reason="\u202e|" * 400)
    many = [suite.flips[0].model_copy(update={"before": reason, "command": b"\xff|`" * 80, "size": 9000})] * 3000
    kinds = {"fail → undecided": 3000}
    text = rescore_table(
        VerdictDiff(format=1, suites=(suite.model_copy(update={"flips": tuple(many), "kinds": kinds}),))
    )
    assert len(text.encode()) <= 65_536
    assert "… and 2,940 more flips" in text
    assert "\u202e" not in text


def test_the_record_reads_what_it_writes(project: Project, board: SuiteBoard) -> None:
    """The record of changes is equal after it is written as JSON, as `--json` does, and read again."""
    republish(project, "half", flipped(verdict_file(board, "half"), {"files-2": OPEN}))
    changes = changes_since(project, "HEAD")
    assert VerdictDiff.model_validate(json.loads(json.dumps(changes.model_dump(mode="json")))) == changes
