"""List the runs for which a suite needs evidence: the runs of its references and of its submissions.

Two runs of each command are listed, although only references and failing candidates are executed twice. If a
submission's command is also a reference of the task, its runs are not listed for the submission. So a submission's
bundle (the file with its evidence) never provides evidence of a reference.
"""

from __future__ import annotations

from collections.abc import Iterable

from evaluator.judges import find_judge
from evaluator.pipeline.grading.cache_keys import CacheKeys, GradingItem, is_executable
from evaluator.pipeline.grading.results import answers
from evaluator.pipeline.project import Project
from evaluator.store import RunKey
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite


class RequiredRuns:
    """The runs for which one suite needs evidence, in the sandbox image with the given fingerprint."""

    def __init__(self, project: Project, suite: Suite, fingerprint: str) -> None:
        self.suite, self.fingerprint = suite, fingerprint
        self._keys = CacheKeys(suite, find_judge(project.settings.judge), fingerprint)
        self.references: frozenset[RunKey] = frozenset(self._runs(reference_commands(suite)))

    def of(self, submission: Submission) -> frozenset[RunKey]:
        """Return the runs of a submission's commands, except commands that are also references of their task."""
        return frozenset(self._runs(submitted_commands(self.suite, submission))) - self.references

    def _runs(self, commands: Iterable[tuple[str, bytes]]) -> Iterable[RunKey]:
        for task, command in dict.fromkeys(commands):
            for key in self._keys.command_runs(task, command).evidence_keys:
                yield key, 0
                yield key, 1


def reference_commands(suite: Suite) -> list[tuple[str, bytes]]:
    """Return every executable reference with the id of its task."""
    return [(task.id, reference) for task in suite.tasks for reference in task.references if is_executable(reference)]


def reference_items(suite: Suite) -> list[GradingItem]:
    """Return a grading item without a command for each task. It needs only the evidence of the task's references."""
    return [GradingItem(task.id, None) for task in suite.tasks]


def submitted_items(suite: Suite, submission: Submission) -> list[GradingItem]:
    """Return a grading item (a command to judge for a task) for each candidate of a submission."""
    return [candidate.subject for candidate in answers(suite, [submission])]


def submitted_commands(suite: Suite, submission: Submission) -> list[tuple[str, bytes]]:
    """Return every executable command of a submission with the id of its task."""
    items = submitted_items(suite, submission)
    return [(task, command) for task, command, _ in items if command is not None and is_executable(command)]
