"""This module collects the problems of one file. Its memory is limited even for a hostile file."""

from __future__ import annotations

from pathlib import Path

from evaluator.errors import Problem, Severity
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

    def error(self, line: int, message: str) -> None:
        """Add an error, which rejects the submission. `line` is 1-based, or 0 for the complete file."""
        self._add(line, message, Severity.ERROR)

    def warning(self, line: int, message: str) -> None:
        """Add a warning for content that is allowed but may be a mistake."""
        self._add(line, message, Severity.WARNING)

    @property
    def refused(self) -> bool:
        """Return whether the file has an error."""
        return self._found[Severity.ERROR] > 0

    def problems(self) -> list[Problem]:
        """Return the listed problems, sorted by line. A note at the end gives the number of further problems."""
        every = [problem for problems in self._listed.values() for problem in problems]
        every.sort(key=lambda problem: problem.line)
        return every + [note for severity in Severity for note in self._unlisted(severity)]

    def _add(self, line: int, message: str, severity: Severity) -> None:
        self._found[severity] += 1
        if self._found[severity] <= self._most:
            self._listed[severity].append(Problem(self.path, line, message, severity))

    def _unlisted(self, severity: Severity) -> list[Problem]:
        more = self._found[severity] - self._most
        if more <= 0:
            return []
        message = f"{pluralize(more, f'more {severity}')} in this file; fix those listed and check again"
        return [Problem(self.path, 0, message, severity)]
