"""Tests of the final phase: its settings, the submissions that it holds, and its limits for one author."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evaluator.errors import UsageError
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.origins import held_submissions
from evaluator.pipeline.submissions.repository import load_sound, load_submissions
from evaluator.testing.checkouts import small_checkout, small_task, write_submission

TASKS = [small_task("files-1")]
STARTS = datetime(2026, 3, 1, tzinfo=UTC)
RUNNING = datetime(2026, 3, 10, tzinfo=UTC)
ENDS = datetime(2026, 3, 15, tzinfo=UTC)
SETTINGS = """[tool.other]
a = 1

[tool.bashboard.final]
starts = 2026-03-01T00:00:00Z
ends = {ends}
"""


def commit(root: Path, when: datetime) -> None:
    """Commit all files at a time."""
    person = {"NAME": "A person", "EMAIL": "person@example.org", "DATE": when.isoformat()}
    variables = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in person.items()}
    for words in (("add", "--all"), ("commit", "--quiet", "-m", "A change")):
        subprocess.run(["git", "-C", str(root), *words], check=True, env={**variables, "PATH": "/usr/bin:/bin"})


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A board with a submission from before the phase, one from its start, and one that is not committed."""
    small_checkout(tmp_path, TASKS, {"early": {"files-1": ["right"]}, "old": {"files-1": ["right"]}})
    (tmp_path / "pyproject.toml").write_text(SETTINGS.format(ends="2026-03-15T00:00:00Z"))
    (tmp_path / ".gitignore").write_text(".bashboard/\n")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    commit(tmp_path, STARTS - timedelta(seconds=1))
    write_submission(tmp_path, "finalist", {"files-1": ["right"]})
    write_submission(tmp_path, "old", {"files-1": ["right too"]})
    commit(tmp_path, STARTS)
    write_submission(tmp_path, "draft", {"files-1": ["right"]})
    return Project.find(tmp_path)


@pytest.mark.parametrize(
    ("now", "held"),
    [
        (STARTS - timedelta(seconds=1), set()),
        (STARTS, {"finalist", "old"}),
        (ENDS - timedelta(seconds=1), {"finalist", "old"}),
        (ENDS, set()),
    ],
)
def test_the_phase_holds_submissions_that_changed_since_it_started(
    project: Project, now: datetime, held: set[str]
) -> None:
    """A submission from before the phase is not held, and an update of one is. After the end, none is."""
    assert held_submissions(project, now) == held


@pytest.fixture
def running(project: Project) -> Project:
    """The same board in a phase that ends in the future of the machine that runs this test."""
    (project.root / "pyproject.toml").write_text(SETTINGS.format(ends="2999-01-01T00:00:00Z"))
    return Project.find(project.root)


def test_held_submissions_are_loaded_by_no_command(running: Project) -> None:
    loaded = load_sound(running)
    assert [submission.slug for submission in loaded.submissions] == ["draft", "early"]
    assert loaded.held == {"finalist", "old"}
    assert [submission.slug for submission in load_submissions(running)] == ["draft", "early"]


@pytest.mark.parametrize("load", [load_sound, load_submissions])
def test_a_held_submission_is_refused_by_name(running: Project, load: object) -> None:
    """The message says until when the submission is held."""
    with pytest.raises(UsageError, match=r"'finalist' is held by the final phase: .* after 2999-01-01 00:00 UTC"):
        load(running, ["finalist"])  # type: ignore[operator]


def test_without_a_phase_nothing_is_held(running: Project) -> None:
    (running.root / "pyproject.toml").write_text("")
    assert held_submissions(Project.find(running.root)) == frozenset()


@pytest.mark.parametrize(
    ("ends", "line", "fault"),
    [
        ("2026-02-01T00:00:00Z", 6, "final.ends: .*expected a time after the start of the phase"),
        ("2026-03-01T00:00:00Z", 6, "final.ends: .*expected a time after the start of the phase"),
        ("2026-03-15T00:00:00", 6, "final.ends: .*timezone"),
        ('"soon"', 6, "final.ends: "),
        ("2026-03-15T00:00:00Z\na_day = 0", 7, "final.a_day: "),
        ("2026-03-15T00:00:00Z\nends_at = 1", 7, "final.ends_at: "),
    ],
)
def test_a_bad_phase_is_refused_with_file_and_line(project: Project, ends: str, line: int, fault: str) -> None:
    path = project.root / "pyproject.toml"
    path.write_text(SETTINGS.format(ends=ends))
    with pytest.raises(UsageError, match=rf"{path}:{line}: \[tool.bashboard\] {fault}"):
        _ = Project.find(project.root).settings
