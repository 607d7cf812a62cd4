"""The tasks a predictions file names, against those its suite asks."""

from __future__ import annotations

from typing import Final

from evaluator.submissions.messages import counted, listed, nearest, quoted
from evaluator.submissions.problems import Report
from evaluator.submissions.suite_info import SuiteInfo

MOST_COMPARISONS: Final = 20_000
"""Names compared in search of the one that was meant; a file of nothing but unknown tasks would take hours."""


class TaskNames:
    """Notes each line's task in file order; repeated and unknown ones go to the report at once.

    `suite` is None where it is not known here: then no name is unknown and none missing. `answered` is the
    version that the submission answered; what that version asked and a later one dropped is no error.
    """

    def __init__(self, report: Report, suite: SuiteInfo | None, answered: str | None) -> None:
        self._report = report
        self._suite = suite
        self._known = frozenset(suite.tasks if suite else ())
        self._answered = answered if suite and answered and suite.asks_other_tasks_than(answered) else None
        self._lines: dict[str, int] = {}
        self._unknown = 0

    def note(self, line: int, task: object) -> None:
        """Compare one line's task with the suite's and with the lines before."""
        if not isinstance(task, str):
            return
        first = self._lines.setdefault(task, line)
        if first != line:
            self._report.error(line, f"task {quoted(task)} again: line {first} answers it; keep one of the two")
        elif self._suite is not None and task not in self._known:
            self._note_unknown(line, task, self._suite)

    def asks(self, task: str) -> bool:
        """True where the suite's present version asks the task, as far as known here."""
        return self._suite is None or task in self._known

    def note_missing(self, unreadable: int) -> None:
        """Name the tasks without a line, once all lines are noted; `unreadable` lines could not be."""
        missing = [task for task in self._suite.tasks if task not in self._lines] if self._suite else []
        if missing:
            found = f"{counted(len(missing), 'task')} of {len(self._known):,} without a line: {listed(missing)}"
            maybe = f", unless it is on one of {counted(unreadable, 'line')} not read" if unreadable else ""
            self._report.warning(0, f"{found}; each is scored as unanswered{maybe}")

    def _note_unknown(self, line: int, task: str, suite: SuiteInfo) -> None:
        self._unknown += 1
        if self._answered:
            message = f"task {quoted(task)} is not asked by version {suite.version}: it is left out"
            self._report.warning(line, message)
            return
        near = nearest(task, suite.tasks) if self._unknown * len(suite.tasks) <= MOST_COMPARISONS else ""
        self._report.error(line, f"unknown task {quoted(task)}{near or ': expected a task of the suite'}")
