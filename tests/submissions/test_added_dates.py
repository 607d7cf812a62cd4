"""The day on which a submission entered the repository, read from real Git repositories."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest

from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.added_dates import added_dates


class Repository:
    """A Git repository whose commits have the days that a test names."""

    def __init__(self, root: Path, project: str = "") -> None:
        self.root, self.project = root, root / project
        self.project.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.day = "2026-01-01"
        self.commit("2026-01-01", "README")

    def git(self, *words: str) -> None:
        days = (
            {f"GIT_{who}_DATE": f"{self.day}T12:00:00Z" for who in ("AUTHOR", "COMMITTER")}
            if words[0] != "init"
            else {}
        )
        names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        subprocess.run(
            ["git", "-C", self.root, *words], check=True, capture_output=True, env={**os.environ, **names, **days}
        )

    def commit(self, day: str, *names: str) -> None:
        """Commit files with these names on a day. A name without a slash is a file of the project."""
        self.day = day
        for name in names:
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{day}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a change")

    def added(self) -> dict[str, date]:
        return added_dates(Project(self.project))


def manifest(slug: str) -> str:
    return f"submissions/{slug}/submission.toml"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def test_a_later_change_of_a_submission_does_not_move_its_day(repository: Repository) -> None:
    repository.commit("2026-02-03", manifest("one"))
    repository.commit("2026-03-04", manifest("one"), "submissions/one/core.jsonl", manifest("two"))
    assert repository.added() == {"one": date(2026, 2, 3), "two": date(2026, 3, 4)}


def test_a_merged_branch_counts_on_the_day_of_its_merge(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.commit("2026-02-03", manifest("one"))
    repository.git("checkout", "--quiet", "main")
    repository.commit("2026-02-10", "README")
    repository.day = "2026-02-20"
    repository.git("merge", "--quiet", "--no-ff", "--message", "merge", "topic")
    assert repository.added() == {"one": date(2026, 2, 20)}


def test_a_squashed_branch_counts_on_the_day_of_its_commit(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.commit("2026-02-03", manifest("one"))
    repository.git("checkout", "--quiet", "main")
    repository.git("merge", "--quiet", "--squash", "topic")
    repository.commit("2026-02-21")
    assert repository.added() == {"one": date(2026, 2, 21)}


def test_a_folder_that_was_removed_and_added_again_keeps_its_first_day(repository: Repository) -> None:
    repository.commit("2026-02-03", manifest("one"))
    shutil.rmtree(repository.project / "submissions")
    repository.commit("2026-02-04")
    repository.commit("2026-02-05", manifest("one"))
    assert repository.added() == {"one": date(2026, 2, 3)}


def test_a_renamed_folder_is_a_new_submission(repository: Repository) -> None:
    repository.commit("2026-02-03", manifest("one"))
    (repository.project / "submissions/one").rename(repository.project / "submissions/two")
    repository.commit("2026-02-04")
    assert repository.added()["two"] == date(2026, 2, 4)


@pytest.mark.parametrize("slug", ["a\nb", "x\ncommit 5", "\n", "commit 12", "-n", ":(glob)*", "*", "ä", '"', "\t"])
def test_a_hostile_name_of_a_folder_changes_no_other_day(repository: Repository, slug: str) -> None:
    repository.commit("2026-02-03", manifest("one"))
    repository.commit("2026-02-04", manifest(slug), f"submissions/{slug}/deeper/submission.toml")
    assert repository.added() == {"one": date(2026, 2, 3), slug: date(2026, 2, 4)}


def test_a_name_that_is_not_utf_8_is_read_as_the_file_system_names_it(repository: Repository) -> None:
    slug = os.fsdecode(b"\xff")
    repository.commit("2026-02-04", manifest(slug))
    assert repository.added() == {slug: date(2026, 2, 4)}


def test_a_project_in_a_subfolder_has_the_days_of_its_own_submissions(tmp_path: Path) -> None:
    repository = Repository(tmp_path, "deep/project")
    repository.commit("2026-02-03", manifest("one"), f"../../{manifest('outside')}")
    assert repository.added() == {"one": date(2026, 2, 3)}


def test_a_shallow_clone_has_no_days(repository: Repository, tmp_path: Path) -> None:
    repository.commit("2026-02-03", manifest("one"))
    subprocess.run(["git", "clone", "--quiet", "--depth=1", repository.root.as_uri(), tmp_path / "clone"], check=True)
    assert added_dates(Project(tmp_path / "clone")) == {}


def test_a_folder_outside_git_and_a_machine_without_git_have_no_days(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("2026-02-03", manifest("one"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    assert added_dates(Project(tmp_path / "elsewhere")) == {}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert repository.added() == {}


def test_a_signature_that_git_shows_by_its_settings_does_not_disturb(repository: Repository) -> None:
    repository.git("config", "log.showSignature", "true")
    repository.commit("2026-02-03", manifest("one"))
    assert repository.added() == {"one": date(2026, 2, 3)}
