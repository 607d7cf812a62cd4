"""List the runs for which a suite may need evidence: the runs of its references and of its submissions.

Two runs of each command in every variant are listed, although a verdict may need fewer: the judge asks for the others
one after another (`Grader.missing_runs`). A candidate behind one that passes is listed too, because that verdict may
change. If a submission's command is also a reference of the task, its runs are not listed for the submission. So the
evidence of a reference never comes from a job that executes a submission's commands.

In a suite with fresh variants, each submission also needs the runs of the references in its own fresh variants.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from evaluator.judges import find_judge
from evaluator.pipeline.grading.cache_keys import CacheKeys, GradingItem, is_executable
from evaluator.pipeline.grading.results import answers, chains_of, submission_seed
from evaluator.pipeline.project import Project
from evaluator.store import RunKey
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite


class RequiredRuns:
    """The runs for which one suite needs evidence, in the sandbox image with the given fingerprint.

    `keys` are the keys of the suite's commands, if the caller has them.
    """

    def __init__(self, project: Project, suite: Suite, fingerprint: str, keys: CacheKeys | None = None) -> None:
        self.suite, self.fingerprint = suite, fingerprint
        self._keys = keys or CacheKeys(suite, find_judge(project.settings.judge), fingerprint)
        self.references: frozenset[RunKey] = frozenset(self._runs(reference_commands(suite)))
        self._fresh: dict[str, frozenset[RunKey]] = {"": frozenset()}

    def of(self, submission: Submission, items: Iterable[GradingItem] | None = None) -> frozenset[RunKey]:
        """Return the runs of a submission's commands, except commands that are also references of their task.

        With `items`, return only the runs of these commands.
        """
        chosen = submitted_items(self.suite, submission) if items is None else items
        runs = frozenset(self._runs(_executable(chosen)))
        return runs - self.references - self.fresh_references(submission)

    def fresh_references(self, submission: Submission) -> frozenset[RunKey]:
        """Return the runs of the references in the fresh variants of a submission."""
        seed = submission_seed(self.suite, submission)
        if seed not in self._fresh:
            self._fresh[seed] = frozenset(self._runs(reference_commands(self.suite, seed))) - self.references
        return self._fresh[seed]

    def _runs(self, commands: Iterable[SeededCommand]) -> Iterable[RunKey]:
        for command in dict.fromkeys(commands):
            for key in self._keys.command_runs(*command).evidence_keys:
                yield key, 0
                yield key, 1


class SeededCommand(NamedTuple):
    """A command for a task, and the seed of the fresh variant in which it runs too, or an empty text."""

    task: str
    command: bytes
    seed: str = ""


def reference_commands(suite: Suite, seed: str = "") -> list[SeededCommand]:
    """Return every executable reference with the id of its task."""
    references = ((task.id, reference) for task in suite.tasks for reference in task.references)
    return [SeededCommand(task, reference, seed) for task, reference in references if is_executable(reference)]


def reference_items(suite: Suite, submissions: Iterable[Submission] = ()) -> list[GradingItem]:
    """Return grading items without a command, which need only the evidence of the tasks' references.

    There is an item for each task, and one more for each seed of these submissions' fresh variants.
    """
    seeds = dict.fromkeys(["", *(submission_seed(suite, submission) for submission in submissions)])
    return [GradingItem(task.id, None, seed=seed) for seed in seeds for task in suite.tasks]


def submitted_items(suite: Suite, submission: Submission) -> list[GradingItem]:
    """Return a grading item (a command to judge for a task) for each candidate of a submission."""
    return [candidate.subject for candidate in answers(suite, [submission])]


def submitted_chains(suite: Suite, submission: Submission) -> list[list[GradingItem]]:
    """Return the grading items of a submission, with one list for each task, best first."""
    return [[candidate.subject for candidate in chain] for chain in chains_of(answers(suite, [submission]))]


def submitted_commands(suite: Suite, submission: Submission) -> list[SeededCommand]:
    """Return every executable command of a submission with the id of its task and the submission's seed."""
    return _executable(submitted_items(suite, submission))


def _executable(items: Iterable[GradingItem]) -> list[SeededCommand]:
    return [
        SeededCommand(item.task, item.command, item.seed)
        for item in items
        if item.command is not None and is_executable(item.command)
    ]
