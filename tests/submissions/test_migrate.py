"""The answers of a submission follow their tasks to another suite, and nothing else of the submission changes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

import pytest

from evaluator.cli import app
from evaluator.errors import FormatError, UsageError
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions import migrate
from evaluator.pipeline.submissions.migrate import migrate_submission
from evaluator.pipeline.submissions.repository import check_folders
from evaluator.records import SuiteManifest
from evaluator.testing.checkouts import small_task, write_suite
from tests.command_runner import CommandRunner

SHORT: Final = b'{"task": "files-1",  "candidates": [{"command": "ls", "confidence": 0.25}], "latency_s": 0.5}\n'
LONG: Final = (
    b'{"task":"files-2","candidates":[{"command":"a"},{"command":"\\u00e9","confidence":0.50}],"energy_j":2.10}\n'
)
OTHER: Final = b'{"task": "files-3", "output": "b", "input_tokens": 31, "output_tokens": 7}\n'
HEAD: Final = """# our system
format = 1
method = "rules"   # by hand
system = "S"
open_weights = true

[[authors]]
name = "core = "
"""
TABLE: Final = '\n[suites]\n# answered\ncore = "3.0.0" # the first answers\n'
MIGRATED: Final = '\n[suites]\n# answered\ncore = "4.0.0" # the first answers\nprograms = "1.0.0"\n'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A board whose suite core left two of three tasks to the suite programs, and a submission to core 3.0.0."""
    core = write_suite(tmp_path, [small_task("files-1")], name="core", version="4.0.0")
    text = (core / "suite.toml").read_text()
    moved = 'format = 8\nmoved = { programs = "4.0.0" }'
    (core / "suite.toml").write_text(text.replace("format = 1", moved, 1))
    write_suite(tmp_path, [small_task("files-2"), small_task("files-3")], name="programs")
    submit(tmp_path, HEAD + TABLE, LONG + SHORT + OTHER)
    return Project.find(tmp_path)


def submit(root: Path, manifest: str, answers: bytes) -> Path:
    folder = root / "submissions" / "mine"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "submission.toml").write_bytes(manifest.encode())
    (folder / "core.jsonl").write_bytes(answers)
    return folder


def files_in(project: Project) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (project.root / "submissions" / "mine").iterdir()}


def problems(project: Project) -> list[str]:
    found = check_folders(project, [project.root / "submissions" / "mine"])
    return [f"{each.path.name}:{each.line}: {each.severity}: {each.message}" for each in found]


def test_check_says_once_what_moved_and_what_to_do(project: Project) -> None:
    assert problems(project) == [
        "core.jsonl:1: error: 2 answers to tasks that are now in the suite 'programs': run: "
        "bashboard submit migrate mine"
    ]


def test_a_version_that_had_moved_tasks_is_reported_without_an_answer_to_them(project: Project) -> None:
    submit(project.root, HEAD + TABLE, SHORT)
    assert problems(project) == [
        "core.jsonl:0: error: submission.toml says 3.0.0, with tasks that are now in the suite 'programs': run: "
        "bashboard submit migrate mine"
    ]
    assert [path.name for path, _ in migrate_submission(project, "mine")] == ["submission.toml"]
    assert files_in(project)["submission.toml"] == (HEAD + TABLE.replace("3.0.0", "4.0.0")).encode()
    assert problems(project) == []


def test_lines_and_comments_move_byte_for_byte(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root)
    first = CommandRunner().invoke(app, ["submit", "migrate", "mine"])
    assert first.stdout.splitlines() == [
        "submissions/mine/programs.jsonl: 2 answers from core.jsonl",
        "submissions/mine/core.jsonl: 1 answer left",
        "submissions/mine/submission.toml: core = 4.0.0, programs = 1.0.0",
    ], first.stderr
    expected = {"submission.toml": (HEAD + MIGRATED).encode(), "core.jsonl": SHORT, "programs.jsonl": LONG + OTHER}
    assert files_in(project) == expected
    assert problems(project) == []
    again = CommandRunner().invoke(app, ["submit", "migrate", "mine"])
    assert (again.exit_code, again.stdout) == (0, "mine: nothing to migrate\n")
    assert files_in(project) == expected


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_killed_migration_loses_nothing_and_is_completed(
    project: Project, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """The process ends before a write. Every answer is in a file, and the next run makes the same files as one run."""
    left = [None] * writes

    def write(path: Path, data: bytes) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        path.write_bytes(data)

    with monkeypatch.context() as patch:
        patch.setattr(migrate, "write_whole", write)
        with pytest.raises(KeyboardInterrupt):
            migrate_submission(project, "mine")
    lines = b"".join(data for name, data in files_in(project).items() if name.endswith(".jsonl"))
    assert all(line in lines for line in (SHORT, LONG, OTHER))
    assert migrate_submission(project, "mine")
    assert files_in(project) == {
        "submission.toml": (HEAD + MIGRATED).encode(),
        "core.jsonl": SHORT,
        "programs.jsonl": LONG + OTHER,
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('\n[suites]\ncore = "3.0.0"', '\n[suites]\ncore = "4.0.0"\nprograms = "1.0.0"\n'),
        ("\n[suites]\n\t'core'='3.0.0'\n", "\n[suites]\n\t'core'='4.0.0'\n\tprograms = \"1.0.0\"\n"),
        ('\n[suites]\r\ncore = "3.0.0"\r\n', '\n[suites]\r\ncore = "4.0.0"\r\nprograms = "1.0.0"\r\n'),
        ('\n[suites]\nprograms = "1.0.0"\ncore = "3.0.0"\n', '\n[suites]\nprograms = "1.0.0"\ncore = "4.0.0"\n'),
        ('\n[suites]\ncore = "4.0.0"\n', '\n[suites]\ncore = "4.0.0"\nprograms = "1.0.0"\n'),
    ],
    ids=["no last newline", "quotes and a tab", "carriage returns", "programs is there", "a version by hand"],
)
def test_the_table_of_suites_keeps_its_form(project: Project, before: str, after: str) -> None:
    submit(project.root, HEAD + before, SHORT + LONG)
    migrate_submission(project, "mine")
    assert files_in(project)["submission.toml"] == (HEAD + after).encode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('suites = { core = "3.0.0" } # one', 'suites = { core = "4.0.0", programs = "1.0.0" } # one'),
        ('suites.core = "3.0.0"', 'suites.core = "4.0.0"\nsuites.programs = "1.0.0"'),
        ('suites . "core" = "3.0.0"', 'suites . "core" = "4.0.0"\nsuites . programs = "1.0.0"'),
    ],
)
def test_other_forms_of_a_table_are_changed_too(project: Project, before: str, after: str) -> None:
    submit(project.root, f"{before}\n{HEAD}", SHORT + LONG)
    migrate_submission(project, "mine")
    assert files_in(project)["submission.toml"] == f"{after}\n{HEAD}".encode()


def test_a_form_that_cannot_be_changed_is_reported_before_anything_is_written(project: Project) -> None:
    folder = submit(project.root, HEAD + '\n[suites]\n"c\\u006fre" = "3.0.0"\n', SHORT + LONG)
    before = files_in(project)
    with pytest.raises(FormatError, match=r'write core = "4\.0\.0", programs = "1\.0\.0"') as error:
        migrate_submission(project, "mine")
    assert error.value.problems[0].path == folder / "submission.toml"
    assert files_in(project) == before


def test_two_answers_to_one_task_are_reported_and_both_stay(project: Project) -> None:
    folder = project.root / "submissions" / "mine"
    (folder / "programs.jsonl").write_bytes(OTHER + LONG.replace(b'"a"', b'"z"', 1))
    before = files_in(project)
    with pytest.raises(FormatError, match=r"programs.jsonl:2: task files-2: another answer than in core.jsonl"):
        migrate_submission(project, "mine")
    assert files_in(project) == before


def test_unreadable_lines_stay_where_they_are(project: Project) -> None:
    """A line that is not JSON, a line of another task and a repeated line are left to `check`."""
    rest = b"{broken\n\n[1]\n" + b"[" * 100_000 + b"\n" + b'{"task": 7}\n{"task": "unknown-1", "candidates": []}\n'
    submit(project.root, HEAD + TABLE, rest + LONG + LONG + OTHER.rstrip())
    migrate_submission(project, "mine")
    assert files_in(project)["core.jsonl"] == rest
    assert files_in(project)["programs.jsonl"] == LONG + LONG + OTHER


@pytest.mark.parametrize("name", ["core.jsonl", "submission.toml"])
def test_a_link_is_not_followed(project: Project, tmp_path: Path, name: str) -> None:
    """The target of a link may be a file that nobody may publish."""
    file = project.root / "submissions" / "mine" / name
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=f"{name}: expected a regular file"):
        migrate_submission(project, "mine")
    assert not (file.parent / "programs.jsonl").exists()


def test_an_unknown_submission_and_a_broken_manifest_are_reported(project: Project) -> None:
    with pytest.raises(UsageError, match="no submission is named 'mein'"):
        migrate_submission(project, "mein")
    submit(project.root, "core = ", SHORT)
    with pytest.raises(FormatError, match="broken TOML"):
        migrate_submission(project, "mine")


def test_moved_tasks_need_their_format(project: Project) -> None:
    """A suite of an earlier format cannot name suites to which it left tasks."""
    manifest = tomllib.loads((project.fixtures / "core" / "suite.toml").read_text())
    assert SuiteManifest.model_validate(manifest).moved == {"programs": "4.0.0"}
    with pytest.raises(ValueError, match="moved: expected format = 8 or higher, found 7"):
        SuiteManifest.model_validate({**manifest, "format": 7})


def test_the_suites_of_the_repository_share_no_task() -> None:
    """An answer to core belongs to one suite: core left its longer tasks to programs."""
    project = Project(Path(__file__).parents[2])
    core, programs = project.suite("core"), project.suite("programs")
    assert core.manifest.moved.keys() == {"programs"}
    assert {task.id for task in core.tasks} & {task.id for task in programs.tasks} == set()
