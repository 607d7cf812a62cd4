"""The submissions that a pull request changes, in a real Git repository: `check --since` and `preview --since`."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest
from typer.testing import Result

from evaluator.cli import app
from evaluator.errors import UsageError
from evaluator.pipeline.project import Project
from evaluator.pipeline.pull_requests.report import read_preview
from evaluator.pipeline.submissions.repository import ChangedSubmissions, changed_submissions
from evaluator.testing.checkouts import small_checkout, small_task, write_submission
from evaluator.testing.executor import fake_boards
from tests.command_runner import CommandRunner

TASKS = [small_task("files-1", references=("ls 1", "echo 1"))]
WHO = ("-c", "user.name=A person", "-c", "user.email=person@example.org")
HOSTILE = [
    pytest.param(name, id=ascii(name))
    for name in (
        "Upper",
        "-rf",
        "$(id)",
        "a b",
        "a\n::error::b",
        "\u202egnp",
        b"\xff\xfe".decode(errors="surrogateescape"),
        '"quoted"',
        "x" * 200,
    )
]


def git(project: Project, *words: str) -> None:
    subprocess.run(["git", *WHO, "-C", str(project.root), *words], check=True, capture_output=True)


def commit(project: Project) -> None:
    git(project, "add", "--all", "--", "fixtures", "submissions")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "A change")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = small_checkout(tmp_path, TASKS, {"old": {"files-1": ["ls 1"]}, "other": {"files-1": ["echo 1"]}})
    git(made, "init", "--quiet", "--initial-branch=main", "--template=")
    commit(made)
    return made


def run(project: Project, *arguments: str, **environment: str) -> Result:
    with contextlib.chdir(project.root):
        return CommandRunner().invoke(app, arguments, env={"DOCKER_HOST": "unix:///nowhere/docker.sock", **environment})


def test_one_that_is_new_differs_committed_or_not(project: Project) -> None:
    folder = write_submission(project.root, "mine", {"files-1": ["ls 1"]})
    assert changed_submissions(project, "HEAD") == ChangedSubmissions((folder,), ())
    commit(project)
    assert changed_submissions(project, "HEAD") == ChangedSubmissions((), ())
    assert changed_submissions(project, "HEAD^1") == ChangedSubmissions((folder,), ())


def test_one_that_is_gone_is_withdrawn(project: Project) -> None:
    git(project, "rm", "-r", "--quiet", "submissions/old")
    commit(project)
    assert changed_submissions(project, "HEAD^1") == ChangedSubmissions((), ("old",))


def test_one_that_was_renamed_is_withdrawn_and_new(project: Project) -> None:
    git(project, "mv", "submissions/old", "submissions/new")
    commit(project)
    assert changed_submissions(project, "HEAD^1") == ChangedSubmissions(
        (project.root / "submissions" / "new",), ("old",)
    )


@pytest.mark.parametrize(
    "path",
    [
        *("submissions/owners.json", "submissions/quarantine.json"),
        *("submissions/old/tiny.verdicts.jsonl", "README.md"),
    ],
)
def test_what_publishing_writes_and_what_is_elsewhere_is_no_change_of_a_submission(project: Project, path: str) -> None:
    (project.root / path).write_text("{}\n")
    assert changed_submissions(project, "HEAD") == ChangedSubmissions((), ())


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_is_no_slug_is_a_problem_on_one_line(project: Project, name: str) -> None:
    (project.root / "submissions" / name).mkdir()
    (project.root / "submissions" / name / "submission.toml").write_text("")
    commit(project)
    found = run(project, "check", "--since", "HEAD^1")
    assert found.exit_code == 1
    assert "expected lower-case letters, digits and inner '-'" in found.stdout
    assert all(line.startswith("submissions") for line in found.stdout.splitlines())
    marked = run(project, "check", "--since", "HEAD^1", "--annotate").stdout.splitlines()
    assert all(line.startswith("::error file=submissions") for line in marked)


def test_a_link_in_the_place_of_a_folder_is_not_followed(project: Project) -> None:
    (project.root / "submissions" / "mine").symlink_to("/etc")
    commit(project)
    found = run(project, "check", "--since", "HEAD^1")
    assert found.exit_code == 1
    assert found.stdout.startswith("submissions/mine: a symbolic link")


def test_only_what_differs_is_checked(project: Project) -> None:
    (project.root / "submissions" / "old" / "tiny.jsonl").write_text("{\n")
    commit(project)
    write_submission(project.root, "mine", {"files-1": ["ls 1"]})
    assert run(project, "check", "--since", "HEAD").exit_code == 0
    assert run(project, "check").exit_code == 1


def test_nothing_that_differs_is_said(project: Project) -> None:
    found = run(project, "check", "--since", "HEAD")
    assert (found.exit_code, found.stdout) == (0, "")
    assert "no submission here differs from HEAD" in found.stderr


@pytest.mark.parametrize("since", ["nowhere", "--output=stolen", "-", "HEAD^9", "\u202e", ""])
def test_what_is_no_commit_is_refused(project: Project, since: str) -> None:
    with pytest.raises(UsageError, match="expected a commit of this checkout"):
        changed_submissions(project, since)
    assert not (project.root / "stolen").exists()


# -- the preview of a changed submission


def test_the_preview_is_of_the_one_that_differs(project: Project, tmp_path: Path) -> None:
    write_submission(project.root, "mine", {"files-1": ["ls 1"]})
    fake_boards(project, {"ls 1": "1\n", "echo 1": "1\n"})
    out, summary = tmp_path / "deep" / "preview.json", tmp_path / "summary.md"
    given = ("preview", "--since", "HEAD", "--json", "--out", str(out), "--summary")
    found = run(project, *given, GITHUB_STEP_SUMMARY=str(summary))
    assert (found.exit_code, found.stdout) == (0, "")
    assert read_preview(out.read_bytes(), "mine").passed == 1
    assert "## `mine`: no errors, 1 of 1 tasks passed" in summary.read_text()


def test_where_nothing_differs_there_is_no_preview(project: Project, tmp_path: Path) -> None:
    git(project, "rm", "-r", "--quiet", "submissions/old")
    commit(project)
    found = run(project, "preview", "--since", "HEAD^1", "--json", "--out", str(tmp_path / "preview.json"))
    assert (found.exit_code, (tmp_path / "preview.json").exists()) == (0, False)
    assert "there is nothing to preview" in found.stderr


def test_two_at_once_are_refused_by_name(project: Project) -> None:
    for slug in ("mine", "yours"):
        write_submission(project.root, slug, {"files-1": ["ls 1"]})
    found = run(project, "preview", "--since", "HEAD")
    assert found.exit_code == 2
    assert "2 submissions differ: mine, yours" in found.stderr


@pytest.mark.parametrize("given", [("preview",), ("preview", "old", "--since", "HEAD")])
def test_a_slug_or_a_commit_is_expected(project: Project, given: tuple[str, ...]) -> None:
    assert "expected a submission's slug, or --since" in run(project, *given).stderr
