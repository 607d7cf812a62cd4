"""Tests of the benchmark of reading commands, and of what these commands leave out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from evaluator.errors import InfraError, MissingError
from evaluator.pipeline.benchmarks import reading_benchmark
from evaluator.pipeline.benchmarks.reading_benchmark import bench_reading, reading_commands
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions import repository
from evaluator.pipeline.submissions.repository import load_submissions, suite_info
from evaluator.progress import NullProgress
from evaluator.submissions.suite_info import SuiteInfo
from evaluator.testing.checkouts import small_checkout, small_task, write_suite

WORK: Final = ("altair", "bashlex", "docker", "jinja2", "mkdocs", "nltk", "openai", "scipy", "sklearn")
"""Packages that execute, judge or draw. A command that only reads verdicts needs none of them."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    answers = {"files-1": ["ls a"]}
    return small_checkout(tmp_path, [small_task("files-1")], {"first": answers, "second": answers})


def test_each_reading_command_is_measured(project: Project) -> None:
    """The commands name two submissions and a task of the suite."""
    commands = reading_commands(project, "tiny")
    assert [words[0] for words in commands] == [
        *("--help", "standings", "explain", "compare", "score", "publish", "check", "judges"),
    ]
    assert ("explain", "first", "files-1", "--suite", "tiny") in commands
    assert ("compare", "first", "second") in commands


def test_one_submission_cannot_be_compared(tmp_path: Path) -> None:
    project = small_checkout(tmp_path, [small_task("files-1")], {"only": {"files-1": ["ls a"]}})
    with pytest.raises(MissingError, match="expected two submissions that answer tiny, found 1"):
        reading_commands(project, "tiny")


def test_a_row_holds_the_cost_of_a_new_process(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_benchmark, "reading_commands", lambda *_: [("--version",)])
    (row,) = bench_reading(project, NullProgress(), suite="tiny", runs=2)
    assert (row.command, row.runs) == ("--version", 2)
    assert row.cpu_s > 0


def test_a_command_that_fails_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_benchmark, "reading_commands", lambda *_: [("standing",)])
    with pytest.raises(InfraError, match="bashboard standing ended with exit code 2"):
        bench_reading(project, NullProgress(), suite="tiny", runs=1)


def test_only_the_suites_that_are_answered_are_read(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Submissions are loaded without the suites that they do not answer. Each other suite is read once."""
    write_suite(project.root, [small_task("files-1")], name="unanswered")
    read: list[str] = []

    def counted(of: Project, name: str) -> SuiteInfo:
        read.append(name)
        return suite_info(of, name)

    monkeypatch.setattr(repository, "suite_info", counted)
    assert len(load_submissions(project)) == 2
    assert read == ["tiny"]


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("evaluator", (*WORK, "pydantic", "numpy", "polars")),
        ("evaluator.pipeline.submissions.repository", (*WORK, "numpy", "polars")),
        ("evaluator.pipeline.boards.gather", WORK),
    ],
)
def test_reading_imports_nothing_that_does_the_work(module: str, heavy: tuple[str, ...]) -> None:
    """The modules behind `check` and `standings` load no package that they do not need to read."""
    program = f"import sys, {module}; print(sorted(set({heavy!r}) & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
