"""Tests of the commands that read published verdicts."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.write import VEGA
from evaluator.pipeline.grading.verdict_files import VerdictFile, verdict_bytes, verdicts_path
from evaluator.pipeline.project import Project
from evaluator.records import Contested, Finding, Outcome, Standing, Step, VerdictDiff
from evaluator.testing.checkouts import small_checkout, small_task, write_submission
from evaluator.testing.executor import Shows, fake_boards
from evaluator.testing.verdict_files import JUDGE, verdict_file, write_verdicts
from tests.command_runner import CommandRunner

ROOT = Path(__file__).parents[2]
TASKS = [small_task(f"files-{number}", references=(f"ls {number}", f"echo {number}")) for number in (1, 2)]
SHOWN: dict[str, Shows] = {f"{verb} {number}": f"{number}\n" for verb in ("ls", "echo") for number in (1, 2)}
ANSWERS = {
    "good": {"files-1": ["ls 1"], "files-2": ["ls 2"]},
    "half": {"files-1": ["ls 1"], "files-2": ["true"]},
    "new": {"files-1": ["true"], "files-2": ["true"]},
}
NOWHERE = {
    "DOCKER_HOST": "unix:///nowhere/docker.sock",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "owner/board",
}
SITE = f"""
site_name: Board
docs_dir: site
site_dir: build/site
theme: mkdocs
hooks: [{ROOT}/evaluator/leaderboard/hook.py]
validation: {{nav: {{omitted_files: ignore}}}}
"""
"""The settings of a site that has only the board."""

OPEN = Finding(outcome=Outcome.UNDECIDED, step=Step.OUTPUT, reason="another layout")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, SuiteBoard]:
    """A checkout under Git with published verdicts of two of its three submissions, and the board with these verdicts.

    The store is deleted.
    """
    project = small_checkout(tmp_path_factory.mktemp("published"), TASKS, ANSWERS)
    (board,) = fake_boards(project, {**SHOWN, "true": ""})
    project.store_path.unlink()
    for slug in ("good", "half"):
        write_verdicts(project, board, slug)
    settings = ("-c", "user.name=Bashboard", "-c", "user.email=bashboard@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "--quiet"), ("add", "submissions"), ("commit", "--quiet", "-m", "Verdicts")):
        subprocess.run(["git", *settings, *words], cwd=project.root, check=True, capture_output=True)
    return project, board


@pytest.fixture
def project(made: tuple[Project, SuiteBoard], tmp_path: Path) -> Iterator[Project]:
    """A copy of the checkout, which is the current folder during the test."""
    root = shutil.copytree(made[0].root, tmp_path / "copy")
    with contextlib.chdir(root):
        yield Project(root)


@pytest.fixture
def board(made: tuple[Project, SuiteBoard]) -> SuiteBoard:
    return made[1]


def bashboard(*arguments: str) -> Result:
    return CommandRunner().invoke(app, arguments, env=NOWHERE, catch_exceptions=False)


def reopen(project: Project, board: SuiteBoard) -> None:
    """Change the failed verdicts of the submission `half` to undecided, and publish them."""
    file = verdict_file(board, "half", judge_version=99)
    lines = (
        each.model_copy(update={"finding": OPEN}) if each.finding.outcome is Outcome.FAIL else each
        for each in file.verdicts
    )
    verdicts_path(project, "half", "tiny").write_bytes(verdict_bytes(VerdictFile(file.header, tuple(lines))))


def test_standings_of_what_is_published_need_nothing_else(project: Project, board: SuiteBoard) -> None:
    """Published standings need no engine and no evidence.

    Rows are printed as JSON. Submissions without published verdicts are named on standard error.
    """
    found = bashboard("standings", "--published", "--json")
    rows = [Standing.model_validate(each) for each in json.loads(found.stdout)]
    assert found.exit_code == 0
    assert [each.model_copy(update={"judged_by": None}).passed for each in rows] == [2, 1]
    assert [each.judged_by.differs for each in rows if each.judged_by] == [(), ()]
    assert found.stderr == "bashboard: tiny: without published verdicts: new\n"
    assert bashboard("standings").exit_code == 3


def test_a_table_marks_what_was_judged_by_something_older(project: Project, board: SuiteBoard) -> None:
    write_verdicts(project, board, "half", judge_version=5, suite_version="0.9.0")
    found = bashboard("standings", "--published")
    (marked,) = [line for line in found.stdout.splitlines() if "half" in line]
    assert "consensus 5, tiny 0.9.0" in marked
    assert "judged by: an earlier judge, suite or environment" in found.stdout


def test_verdicts_that_are_missing_are_told_and_fail(project: Project, board: SuiteBoard) -> None:
    """If a published verdict is missing, the row is shown without a rank, and the command exits with 3."""
    write_submission(project.root, "half", {**ANSWERS["half"], "files-2": ["date"]})
    found = bashboard("standings", "--published")
    assert found.exit_code == 3
    assert "not ranked: verdicts are not published yet" in found.stdout
    assert "bashboard: 1 answer has no published verdict yet\n" in found.stderr


@pytest.mark.parametrize("command", ["standings", "build"])
def test_published_verdicts_have_their_judges(project: Project, command: str) -> None:
    """`--judge` is refused together with `--published`, because published verdicts already have their judge."""
    found = bashboard(command, "--published", "--judge", "exact")
    assert (found.exit_code, found.stderr[:32]) == (2, "bashboard: --published and --jud")


@pytest.mark.slow
def test_the_site_is_built_of_what_is_published(project: Project, board: SuiteBoard) -> None:
    """The site has a page for each published submission, the names of submissions that await verdicts, and appeal
    links.
    """
    (project.root / "mkdocs.yml").write_text(SITE)
    vega = project.root / "site" / "board" / VEGA  # an existing file is not bundled again
    vega.parent.mkdir(parents=True)
    vega.touch()
    found = bashboard("build", "--published")
    assert found.exit_code == 0, found.stderr
    home = project.root / "site" / "board" / ".parts" / "_home.html"
    assert 'Awaiting their verdicts: <code class="slug">new</code>' in home.read_text()
    site = project.root / "build" / "site" / "board" / "tiny"
    assert sorted(path.name for path in (site / "submissions").iterdir() if path.is_dir()) == ["good", "half"]
    shown = (site / "submissions" / "half" / "index.html").read_text()
    assert "https://github.com/owner/board/issues/new?template=appeal.yml&amp;submission=half" in shown


def test_changes_are_told_in_three_ways(project: Project, board: SuiteBoard) -> None:
    """Changes of verdicts are printed as text, as Markdown for a pull request, or as JSON."""
    reopen(project, board)
    told = bashboard("publish", "changes").stdout
    assert "tiny 1.0.0: 1 of 2 rows move" in told
    assert f"files-2  half  fail → undecided  (judge: consensus {JUDGE.version} → consensus 99)\n" in told
    assert "| `half` | 50.0 % | 50.0 % |" in bashboard("publish", "changes", "--markdown").stdout
    found = VerdictDiff.model_validate(json.loads(bashboard("publish", "changes", "--json").stdout))
    assert found.suites[0].kinds == {"fail → undecided": 1}
    assert bashboard("publish", "changes", "--suite", "tiny", "--against", "HEAD").stdout == told


def test_a_commit_that_is_not_there_is_wrong_use(project: Project) -> None:
    found = bashboard("publish", "changes", "--against", "nowhere")
    assert (found.exit_code, "git fetch --unshallow" in found.stderr) == (2, True)


def test_what_is_contested_is_told_in_three_ways(project: Project, board: SuiteBoard) -> None:
    assert bashboard("contested").stdout == "no published verdict is undecided\n"
    reopen(project, board)
    told = bashboard("contested").stdout
    assert "  $ bashboard explain half files-2 --suite tiny\n" in told
    assert "  $ bashboard adjudicate half files-2 pass --suite tiny --because 'WHY'\n" in told
    (only,) = [Contested.model_validate(each) for each in json.loads(bashboard("contested", "--json").stdout)]
    assert (only.task, only.rows, only.reason) == ("files-2", 1, "another layout")
    assert only.explain in bashboard("contested", "--markdown", "--suite", "tiny").stdout


def test_a_job_obeys_nothing_that_a_command_says(project: Project, board: SuiteBoard, tmp_path: Path) -> None:
    """The job's runner does not interpret a submission's command as a runner command.

    A runner interprets lines that begin with `::`, so this is switched off while the lines are printed.
    """
    write_submission(project.root, "half", {**ANSWERS["half"], "files-2": ["::add-mask::true"]})
    (played,) = fake_boards(project, {**SHOWN, "true": "", "::add-mask::true": ""})
    reopen(project, played)
    job = {**NOWHERE, "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    found = CommandRunner().invoke(app, ["contested", "--summary"], env=job, catch_exceptions=False)
    first, *lines, last = found.stdout.splitlines()
    assert "  ::add-mask::true" in lines
    assert first.startswith("::stop-commands::")
    assert last == f"::{first.removeprefix('::stop-commands::')}::"
    assert "- command: `::add-mask::true`" in (tmp_path / "summary.md").read_text()


def test_there_is_a_summary_in_a_job_alone(project: Project) -> None:
    found = bashboard("contested", "--summary")
    assert (found.exit_code, "GITHUB_STEP_SUMMARY is not set" in found.stderr) == (3, True)


@pytest.mark.parametrize("command", [("contested",), ("publish", "changes")])
def test_two_forms_at_once_are_wrong_use(project: Project, command: tuple[str, ...]) -> None:
    found = bashboard(*command, "--json", "--markdown")
    assert (found.exit_code, found.stderr) == (2, "bashboard: --json and --markdown: expected one of them\n")
