"""Show the progress of a command on standard error: as a bar on a terminal, or as lines for a log.

A log gets a line when a stage begins, a line every 30 seconds with the count and the time left, and a line at its end.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from evaluator.progress import Progress
from evaluator.wording import format_duration

INTERVAL_S: Final = 30.0
"""The time after which a log gets a line again."""


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - standard error of a command


class ProgressLines:
    """Progress output for logs. `clock` returns seconds, and `write` prints a line."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        write: Callable[[str], None] = _print,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._clock, self._write, self._interval_s = clock, write, interval_s
        self._lock = threading.Lock()  # `tick` runs in a thread of its own
        self._name, self._note = "", ""
        self._total: int | None = None
        self._done, self._began, self._written = 0, 0.0, 0.0

    def say(self, text: str) -> None:
        """End the stage, and announce a step of unknown length."""
        self._begin(text, None)
        self._write(text)

    def stage(self, name: str, total: int) -> None:
        """End the stage before, and begin one of `total` steps."""
        self._begin(name, total)
        self._write(f"{name}: {total:,}")

    def advance(self) -> None:
        """Count one step."""
        with self._lock:
            self._done += 1

    def note(self, text: str) -> None:
        """Remember an intermediate result for the next line."""
        self._note = f" ({text})"

    def tick(self) -> None:
        """Print the count and the time left, if the last line is old enough."""
        with self._lock:
            now = self._clock()
            if self._name and now - self._written >= self._interval_s:
                self._written = now
                self._write(f"{self._name}: {self._state(now - self._began)}{self._note}")

    def _state(self, spent_s: float) -> str:
        if self._total is None:
            return f"{format_duration(spent_s)} so far"
        counts = f"{self._done:,} of {self._total:,}"
        if not self._done:
            return f"{counts} after {format_duration(spent_s)}"
        left_s = spent_s / self._done * max(0, self._total - self._done)
        return f"{counts}, about {format_duration(left_s)} left"

    def finish(self) -> None:
        """End the stage, and print how long it took."""
        with self._lock:
            if self._name and self._total is not None:
                self._write(f"{self._name}: {self._total:,} in {self._clock() - self._began:.1f} s{self._note}")
            self._name = self._note = ""

    def _begin(self, name: str, total: int | None) -> None:
        self.finish()
        with self._lock:
            self._name, self._total, self._done = name, total, 0
            self._began = self._written = self._clock()


@contextlib.contextmanager
def report_every(lines: ProgressLines, every_s: float = 1.0) -> Iterator[ProgressLines]:
    """Call `tick` in a thread while the `with` block runs, because a single step may take minutes."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(every_s):
            lines.tick()

    thread = threading.Thread(target=run, name="progress", daemon=True)
    thread.start()
    try:
        yield lines
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def shown_progress() -> Iterator[Progress]:
    """Show the progress of a command while the `with` block runs. Yield the object that receives its reports."""
    if not sys.stderr.isatty():
        with report_every(ProgressLines()) as lines:
            yield lines
            lines.finish()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("starting", total=None)

        class Bars:
            """Progress output for a terminal. All stages share one bar."""

            stage_name = ""

            def say(self, text: str) -> None:
                bars.reset(task, description=text, total=None)

            def stage(self, name: str, total: int) -> None:
                self.stage_name = name
                bars.reset(task, description=name, total=total)

            def advance(self) -> None:
                bars.advance(task)

            def note(self, text: str) -> None:
                bars.update(task, description=f"{self.stage_name} ({text})")

        yield Bars()
