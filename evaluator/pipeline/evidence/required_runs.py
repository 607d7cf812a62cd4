"""Which runs the evidence of a suite consists of: what its references need, and what a submission adds to that.

Both runs of a command are named, though the second is made only of references and of what does not pass. A command
that is also a reference's belongs to the references, whoever else gives it: no submission's evidence is taken of it.
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
    """The runs of one suite under one fingerprint."""

    def __init__(self, project: Project, suite: Suite, fingerprint: str) -> None:
        self.suite, self.fingerprint = suite, fingerprint
        self._keys = CacheKeys(suite, find_judge(project.settings.judge), fingerprint)
        self.references: frozenset[RunKey] = frozenset(self._runs(reference_commands(suite)))

    def of(self, submission: Submission) -> frozenset[RunKey]:
        """The runs of a submission's own commands."""
        return frozenset(self._runs(submitted_commands(self.suite, submission))) - self.references

    def _runs(self, commands: Iterable[tuple[str, bytes]]) -> Iterable[RunKey]:
        for task, command in dict.fromkeys(commands):
            for key in self._keys.command_runs(task, command).evidence_keys:
                yield key, 0
                yield key, 1


def reference_commands(suite: Suite) -> list[tuple[str, bytes]]:
    """Every reference that can be executed, with its task."""
    return [(task.id, each) for task in suite.tasks for each in task.references if is_executable(each)]


def reference_subjects(suite: Suite) -> list[GradingItem]:
    """A subject for every task that needs the references' evidence and no other."""
    return [GradingItem(task.id, None) for task in suite.tasks]


def submitted_subjects(suite: Suite, submission: Submission) -> list[GradingItem]:
    """What is judged of a submission, the best candidates and all others."""
    return [answer.subject for answer in answers(suite, [submission])]


def submitted_commands(suite: Suite, submission: Submission) -> list[tuple[str, bytes]]:
    """Every command of a submission that can be executed, with its task."""
    subjects = submitted_subjects(suite, submission)
    return [(task, command) for task, command, _ in subjects if command is not None and is_executable(command)]
