"""Find the suites that have a board, and the reason for each suite that cannot be loaded.

A suite that cannot be loaded never stops the other suites. Commands report it, and continue with the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from evaluator.errors import BashboardError, FormatError, MissingError
from evaluator.escaping import printable
from evaluator.pipeline.project import Project
from evaluator.records import Task
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite


class BoardSuites(NamedTuple):
    """The suites that have a board. `errors` maps the name of each suite that cannot be loaded to the error."""

    suites: tuple[Suite, ...]
    errors: Mapping[str, BashboardError]

    @property
    def unavailable(self) -> dict[str, str]:
        """Return the reason, in one line, for each suite that cannot be loaded."""
        return {name: one_line(error) for name, error in self.errors.items()}

    def raise_if_empty(self) -> None:
        """Raise the error of the first suite that cannot be loaded, if no suite can be loaded."""
        if self.errors and not self.suites:
            raise next(iter(self.errors.values()))


def readable_suites(project: Project) -> BoardSuites:
    """Load every suite that a submission may answer, sorted by name, and collect the errors.

    A suite that breaks its format has an error, and so has an external suite that is not on this machine.
    """
    return _load_each(project, project.answerable_suites())


def _load_each(project: Project, names: Iterable[str]) -> BoardSuites:
    suites: list[Suite] = []
    errors: dict[str, BashboardError] = {}
    for name in names:
        try:
            suites.append(project.suite(name))
        except (FormatError, MissingError) as error:
            errors[name] = error
    return BoardSuites(tuple(suites), errors)


def suites_on_board(project: Project, submissions: Sequence[Submission]) -> BoardSuites:
    """Return the suites that have a board: the project's own, and each external suite that a submission answers."""
    answered = {name for submission in submissions for name in submission.manifest.suites}
    external = project.external_suites()
    found = readable_suites(project)
    suites = (suite for suite in found.suites if not suite.manifest.foreign or suite.manifest.name in answered)
    errors = {name: error for name, error in found.errors.items() if name not in external or name in answered}
    return BoardSuites(tuple(suites), errors)


def known_suites(project: Project) -> frozenset[str]:
    """Return the names of all suites of the checkout, including those that cannot be loaded."""
    return frozenset(project.answerable_suites())


def choose_suites(project: Project, names: Sequence[str], submissions: Sequence[Submission]) -> BoardSuites:
    """Return the named suites, or all suites on the board if none is named.

    Raises UsageError for a name that no suite has, and the first suite's error if no suite can be loaded.
    """
    if not names:
        found = suites_on_board(project, submissions)
        found.raise_if_empty()
        return found
    found = _load_each(project, dict.fromkeys(names))
    found.raise_if_empty()
    return found


def public_instruction(project: Project, suite: str, task: Task) -> str:
    """Return a task's instruction for a public text, or a note if the suite's licence does not allow to show it."""
    declared = project.external_suites().get(suite)
    return task.nl if declared is None or declared.texts else "(the licence of the suite does not allow to show it)"


def one_line(error: BashboardError) -> str:
    """Return an error as one line that is safe for a terminal. Of several problems, return the first and the number."""
    if isinstance(error, FormatError) and len(error.problems) > 1:
        return f"{printable(str(error.problems[0]))} (and {len(error.problems) - 1} more problems)"
    return printable(" ".join(str(error).split()))


def asked_suites(names: Collection[str], submissions: Collection[str], loaded: Sequence[Submission]) -> frozenset[str]:
    """Return the suites that a command line asks for: the named suites, and the suites of the named submissions."""
    answered = (submission.manifest.suites for submission in loaded if submission.slug in submissions)
    return frozenset(names) | {suite for suites in answered for suite in suites}
