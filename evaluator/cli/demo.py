"""The steps of `make demo`: set up the engine, score submissions, build the site, and print the standings.

The table `[tool.bashboard.demo]` of pyproject.toml names the submissions and their suite. With `--all`, the demo scores
every submission to every suite.

Each step is one line of progress on a terminal, and plain lines in a log. What the commands print goes to a file, whose
end is shown if a step fails. `python -m evaluator.cli.demo` runs the steps.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TextIO

from evaluator.cli.text_output import accept_any_text
from evaluator.escaping import printable
from evaluator.pipeline.project import DemoRows, Project
from evaluator.wording import format_duration

SHOWN_LINES: Final = 30
"""The number of lines of the log that are shown if a step fails."""

_COUNTS: Final = re.compile(r"[\d,]+(?: of \d.*)?")
"""The counts at the end of a line of `ProgressLines`."""


class DemoStep(NamedTuple):
    """One command of the demo, and what a reader sees of it."""

    title: str
    command: Sequence[str]


def run_steps(
    steps: Sequence[DemoStep], log: Path, out: TextIO, *, terminal: bool, clock: Callable[[], float] = time.monotonic
) -> int:
    """Run the steps in order, and write what they print to `log`. Stop at the first that fails.

    `clock` returns seconds. Return the exit code of the step that failed, or 0.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        for number, step in enumerate(steps, start=1):
            title, began = f"[{number}/{len(steps)}] {step.title}", clock()
            code = _run_step(title, step.command, file, out, terminal=terminal)
            ended = f"{title}: {'failed after' if code else 'done in'} {format_duration(clock() - began)}"
            _show(ended, out, terminal=terminal, last=True)
            if code:
                file.flush()
                print(*map(printable, log.read_text("utf-8").splitlines()[-SHOWN_LINES:]), sep="\n", file=out)
                print(f"`{' '.join(step.command)}` ended with exit code {code}; its log: {log}", file=out)
                return code
    return 0


def _run_step(title: str, command: Sequence[str], log: TextIO, out: TextIO, *, terminal: bool) -> int:
    _show(title, out, terminal=terminal)
    log.write(f"$ {' '.join(command)}\n")
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            log.write(line)
            if is_progress(line.strip()):
                _show(f"{title}: {line.strip()}", out, terminal=terminal)
    return process.returncode


def is_progress(line: str) -> bool:
    """Return whether a line is one of `ProgressLines` that says how far a stage is.

    >>> is_progress("execute: 1,200 of 33,500, 12 min left"), is_progress("suite core: left out")
    (True, False)
    """
    stage, _, rest = line.partition(": ")
    return stage[:1].islower() and (" so far" in rest or _COUNTS.fullmatch(rest) is not None)


def _show(line: str, out: TextIO, *, terminal: bool, last: bool = False) -> None:
    """Print a line. On a terminal, it replaces the line before, and the `last` one of a step stays."""
    if terminal:
        width = shutil.get_terminal_size().columns
        print(f"\r\x1b[K{line[: width - 1]}", end="\n" if last else "", file=out, flush=True)
    else:
        print(line, file=out, flush=True)


def demo_steps(bashboard: str, rows: DemoRows | None) -> tuple[DemoStep, ...]:
    """Return the steps of the demo. Without `rows`, every submission to every suite is scored."""
    chosen = (*rows.submissions, "--suite", rows.suite) if rows else ()
    title = f"score {len(rows.submissions)} submissions to {rows.suite}" if rows else "score every submission"
    return (
        # each worker of the next step tests itself
        DemoStep("set up the container engine", (bashboard, "doctor", "--fix", "--no-test")),
        DemoStep(title, (bashboard, "score", *chosen)),
        DemoStep("build the site", (bashboard, "build")),
    )


def next_steps(bashboard: str) -> str:
    """Return the end of the demo's output: the address of the site, and the commands of a first submission."""
    return (
        f"\nThe site is in build/site. `{bashboard} serve` shows it at http://127.0.0.1:8000\n"
        "A first submission, with OPENAI_API_KEY set or --base-url for another server:\n"
        f'  {bashboard} generate my-model --model gpt-4o-mini --author "Your name"\n'
        f"  {bashboard} check submissions/my-model\n"
        f"  {bashboard} score my-model\n"
    )


def main(arguments: Sequence[str]) -> int:
    """Run the demo in the current folder, and return its exit code."""
    accept_any_text()
    bashboard = str(Path(sys.executable).with_name("bashboard"))
    rows = None if "--all" in arguments else Project.find(Path.cwd()).settings.demo
    sys.stdout.write("You may interrupt the demo: the next `make demo` continues there.\n")
    sys.stdout.flush()
    try:
        steps = demo_steps(bashboard, rows)
        code = run_steps(steps, Path("build", "demo.log"), sys.stdout, terminal=sys.stdout.isatty())
    except KeyboardInterrupt:
        sys.stdout.write("\ninterrupted; `make demo` continues where it stopped\n")
        return 130
    if code:
        return code
    suite = ("--suite", rows.suite) if rows else ()
    code = subprocess.run([bashboard, "standings", *suite], check=False).returncode
    sys.stdout.write(next_steps(os.path.relpath(bashboard)))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
