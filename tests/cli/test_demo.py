"""The demo runs its steps as commands, shows one line of each, and shows the log of a step that fails."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from evaluator.cli.demo import DemoStep, demo_steps, next_steps, run_steps
from evaluator.pipeline.project import Project

WORKS = DemoStep(
    "score",
    (
        *(sys.executable, "-c"),
        "import sys; print('STEP 3/9 : RUN apt-get'); print('executing: 20 of 40, about 2 min left', file=sys.stderr)",
    ),
)
SET_UP = ("doctor", "--fix", "--no-test")
FAILS = DemoStep("build", (sys.executable, "-c", "import sys; print('no space left – on device'); sys.exit(3)"))


def test_without_a_terminal_each_step_prints_plain_lines(tmp_path: Path) -> None:
    out, log = io.StringIO(), tmp_path / "build" / "demo.log"
    assert run_steps([WORKS, WORKS], log, out, terminal=False, clock=lambda: 7.0) == 0
    assert out.getvalue().splitlines() == [
        *("[1/2] score", "[1/2] score: executing: 20 of 40, about 2 min left", "[1/2] score: done in 0 s"),
        *("[2/2] score", "[2/2] score: executing: 20 of 40, about 2 min left", "[2/2] score: done in 0 s"),
    ]
    assert log.read_text().count("STEP 3/9 : RUN apt-get\n") == 2


def test_on_a_terminal_each_step_is_one_line(tmp_path: Path) -> None:
    out = io.StringIO()
    assert run_steps([WORKS, WORKS], tmp_path / "demo.log", out, terminal=True, clock=lambda: 7.0) == 0
    assert out.getvalue().count("\n") == 2
    shown = [line.rpartition("\x1b[K")[2] for line in out.getvalue().rstrip().split("\n")]
    assert shown == ["[1/2] score: done in 0 s", "[2/2] score: done in 0 s"]


def test_a_step_that_fails_ends_the_demo_and_shows_its_log(tmp_path: Path) -> None:
    out, log = io.StringIO(), tmp_path / "demo.log"
    assert run_steps([WORKS, FAILS, WORKS], log, out, terminal=False, clock=lambda: 7.0) == 3
    text = out.getvalue()
    assert "[2/3] build: failed after 0 s\n" in text
    assert "no space left – on device\n" in text
    assert text.rstrip().endswith(f"ended with exit code 3; its log: {log}")
    assert "[3/3]" not in text


def test_the_demo_scores_the_rows_that_the_settings_name() -> None:
    """The repository names at most five submissions, which exist and answer the suite."""
    project = Project.find(Path(__file__))
    rows = project.settings.demo
    assert rows is not None
    assert rows.suite in {path.name for path in project.fixtures.iterdir()}
    assert all((project.submission_folder(slug) / f"{rows.suite}.jsonl").is_file() for slug in rows.submissions)
    commands = [step.command[1:] for step in demo_steps("bashboard", rows)]
    assert commands == [SET_UP, ("score", *rows.submissions, "--suite", rows.suite), ("build",)]


def test_the_demo_scores_everything_on_request() -> None:
    assert [step.command[1:] for step in demo_steps("bashboard", None)] == [SET_UP, ("score",), ("build",)]


def test_the_demo_ends_with_the_commands_of_a_first_submission() -> None:
    """The last lines name the address of the site, and three commands that the command line has."""
    lines = next_steps(".venv/bin/bashboard").splitlines()
    assert "http://127.0.0.1:8000" in lines[1]
    assert [line.split()[1] for line in lines[-3:]] == ["generate", "check", "score"]
