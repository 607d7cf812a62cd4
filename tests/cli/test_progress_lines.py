"""Without a terminal, long work prints a line at its start, every 30 seconds and at its end."""

from __future__ import annotations

import subprocess
import sys
import threading

from evaluator.cli.progress import ProgressLines, report_every


class Clock:
    """A clock that stands still until a test moves it."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_stage_prints_its_count_and_the_time_left_every_30_seconds() -> None:
    clock, written = Clock(), list[str]()
    lines = ProgressLines(clock, written.append)
    lines.stage("executing", 2936)
    for second in range(1, 100):
        clock.now_s += 1
        for _ in range(10 if second > 30 else 0):
            lines.advance()
        lines.tick()
    lines.note("US$ 0.20")
    clock.now_s += 21
    lines.tick()
    lines.finish()
    assert written == [
        "executing: 2,936",
        "executing: 0 of 2,936 after 30 s",
        "executing: 300 of 2,936, about 9 min left",
        "executing: 600 of 2,936, about 6 min left",
        "executing: 690 of 2,936, about 7 min left (US$ 0.20)",
        "executing: 2,936 in 120.0 s (US$ 0.20)",
    ]


def test_a_step_of_unknown_length_prints_how_long_it_takes() -> None:
    clock, written = Clock(), list[str]()
    lines = ProgressLines(clock, written.append)
    lines.say("building the image")
    for _ in range(9):
        clock.now_s += 10
        lines.tick()
    lines.say("done")
    expected = ["building the image", *(f"building the image: {time} so far" for time in ("30 s", "1 min", "2 min"))]
    assert written == [*expected, "done"]


def test_a_line_is_printed_while_a_single_step_takes_long() -> None:
    written, enough = list[str](), threading.Event()

    def write(line: str) -> None:
        written.append(line)
        if len(written) == 3:
            enough.set()

    with report_every(ProgressLines(write=write, interval_s=0.01), every_s=0.01) as lines:
        lines.stage("executing", 2)
        assert enough.wait(30)
        lines.finish()
    assert written[1].startswith("executing: 0 of 2 after ")


def test_nothing_is_printed_after_the_end_and_the_process_ends() -> None:
    program = (
        "from evaluator.cli.progress import shown_progress\n"
        "with shown_progress() as progress:\n    progress.stage('a', 1)\n    progress.advance()\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout == ""
    assert found.stderr == "a: 1\na: 1 in 0.0 s\n"
