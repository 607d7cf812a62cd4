"""Show the progress of a command on standard error: as a bar on a terminal, or as one line for each stage."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from evaluator.progress import Progress


class _Lines:
    """Progress output for logs. It prints messages and the duration of each stage."""

    def __init__(self) -> None:
        self._began = 0.0
        self._stage = ""
        self._note = ""

    def say(self, text: str) -> None:
        self.finish()
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - standard error of a command

    def stage(self, name: str, total: int) -> None:
        self.finish()
        self._began, self._stage = time.monotonic(), f"{name}: {total}"

    def advance(self) -> None:
        pass

    def note(self, text: str) -> None:
        self._note = f" ({text})"

    def finish(self) -> None:
        if self._stage:
            seconds = time.monotonic() - self._began
            print(f"{self._stage} in {seconds:.1f} s{self._note}", file=sys.stderr, flush=True)  # noqa: T201
            self._stage = self._note = ""


@contextlib.contextmanager
def shown_progress() -> Iterator[Progress]:
    """Show the progress of a command while the `with` block runs. Yield the object that receives its reports."""
    if not sys.stderr.isatty():
        lines = _Lines()
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
