"""The demo runs its steps as commands, shows one line of each, and shows the log of a step that fails."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from evaluator.cli.demo import DemoStep, run_steps

WORKS = DemoStep(
    "score",
    (
        *(sys.executable, "-c"),
        "import sys; print('STEP 3/9 : RUN apt-get'); print('executing: 20 of 40, about 2 min left', file=sys.stderr)",
    ),
)
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
