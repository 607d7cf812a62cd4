"""This module collects the problems of one file. Its memory is limited even for a hostile file."""

from __future__ import annotations

from pathlib import Path

from evaluator.errors import Problem, Severity
from evaluator.json_lines import FEW_LINES
from evaluator.wording import pluralize


class ProblemCollector:
    """A collector of one file's problems. It lists at most `most` errors and `most` warnings, and counts the rest.

    `warns` is false if nobody reads the warnings, so that a check may leave out the search for them.
    """

    def __init__(self, path: Path, most: int, *, warns: bool = True) -> None:
        self.path = path
        self.warns = warns
        self._most = most
        self._listed: dict[Severity, list[Problem]] = {severity: [] for severity in Severity}
        self._found = dict.fromkeys(Severity, 0)
        self._is_other_file = False

    def error(self, line: int, message: str) -> None:
        """Add an error, which rejects the submission. `line` is 1-based, or 0 for the complete file."""
        self._add(line, message, Severity.ERROR)

    def warning(self, line: int, message: str) -> None:
        """Add a warning for content that is allowed but may be a mistake."""
        self._add(line, message, Severity.WARNING)

    def note_other_file(self) -> None:
        """Note that no line of the file is valid. Then only the errors of its first lines are listed."""
        self._is_other_file = True

    @property
    def refused(self) -> bool:
        """Return whether the file has an error."""
        return self._found[Severity.ERROR] > 0

    def problems(self) -> list[Problem]:
        """Return the listed problems, sorted by line. A note at the end gives the number of further problems."""
        if self._is_other_file:
            errors = self._listed[Severity.ERROR]
            few = sorted({problem.line for problem in errors})[:FEW_LINES]
            self._listed[Severity.ERROR] = [problem for problem in errors if problem.line in few]
        every = [problem for problems in self._listed.values() for problem in problems]
        every.sort(key=lambda problem: problem.line)
        return every + [note for severity in Severity for note in self._unlisted(severity)]

    def _add(self, line: int, message: str, severity: Severity) -> None:
        self._found[severity] += 1
        if self._found[severity] <= self._most:
            self._listed[severity].append(Problem(self.path, line, message, severity))

    def _unlisted(self, severity: Severity) -> list[Problem]:
        more = self._found[severity] - len(self._listed[severity])
        if more <= 0:
            return []
        is_other_file = self._is_other_file and severity is Severity.ERROR
        advice = (
            ", and no line is valid: is it the right file?" if is_other_file else "; fix those listed and check again"
        )
        message = f"{pluralize(more, f'more {severity}')} in this file{advice}"
        return [Problem(self.path, 0, message, severity)]
