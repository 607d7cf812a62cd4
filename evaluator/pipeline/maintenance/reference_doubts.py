"""Find references in doubt: several systems with different base models agree with each other, but not with a reference.

Two commands agree if the judge passes each of them with the other one as the only reference. So they show the same in
every variant. A group must show something: it prints more than blank lines, or it changes files. Only first candidates
of submissions that name their models count, and no model counts twice. Anybody can write three submissions, so a doubt
is a question for a maintainer and changes no verdict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.files import write_whole
from evaluator.judges import Case, Executed
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.progress import Progress
from evaluator.records import (
    Evidence,
    Finding,
    Method,
    Outcome,
    ReferenceDoubt,
    Task,
    command_digest,
    json_lines,
)
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite
from evaluator.suites.questioned_references import DOUBTS, instruction_digest, overrides_path

JUDGE: Final = "consensus"
LEAST_MODELS: Final = 3
MOST_BEHAVIOURS: Final = 40
"""The most behaviours of a task that are compared with each other. Behaviours of most systems come first."""

SHOWN: Final = 2_000
"""Bytes of an output that a doubt includes."""


class Answerer(NamedTuple):
    """A submission that gave a command, with the models that it names."""

    slug: str
    models: tuple[str, ...]


Answers = Mapping[bytes, Sequence[Answerer]]
"""The commands for one task, each with the submissions that gave it."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The first run of a command in one variant, as a maintainer reads it."""

    command: bytes
    variant: str
    status: int | None
    stdout: bytes
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reference in doubt. `reference` is its number.

    `finding` is the judge's finding on `group`, the systems' command, with this reference alone.
    """

    task: Task
    reference: int
    finding: Finding
    expected: Behaviour
    group: Behaviour
    agreeing: Mapping[bytes, tuple[Answerer, ...]]
    models: tuple[str, ...]

    @property
    def record(self) -> ReferenceDoubt:
        """Return the doubt as a line without any text of the suite or of a submission."""
        return ReferenceDoubt(
            format=1,
            task=self.task.id,
            instruction_digest=instruction_digest(self.task),
            command_digest=command_digest(self.task.references[self.reference - 1]),
            models=self.models,
            agreeing=tuple(sorted(map(command_digest, self.agreeing))),
        )


def suite_doubts(
    project: Project,
    suite: Suite,
    progress: Progress,
    *,
    tasks: Sequence[str] = (),
    workers: int | None = None,
) -> list[Doubt]:
    """Return the references in doubt of a suite or of some tasks. Commands without evidence are executed."""
    selected = [suite.task(name) for name in tasks] or suite.tasks
    submissions = load_sound(project).submissions
    if not _comparable(suite, selected, submissions):
        return []
    with open_grader(project, suite, progress, judge=JUDGE, workers=workers) as grader:
        return find_doubts(grader, selected, submissions)


def find_doubts(grader: Grader, tasks: Sequence[Task], submissions: Iterable[Submission]) -> list[Doubt]:
    """Return the references in doubt of these tasks. The grader's judge decides which commands agree."""
    answers = _comparable(grader.suite, tasks, submissions)
    selected = [task for task in tasks if task.id in answers]
    commands = [(task.id, command) for task in selected for command in (*task.references, *answers[task.id])]
    grader.ensure_evidence(GradingItem(task, command) for task, command in commands)
    return [doubt for task in selected for doubt in _TaskComparison(grader, task, answers[task.id]).doubts()]


def write_doubts(suite: Suite, doubts: Iterable[Doubt]) -> Path:
    """Write the file that the task pages read, and return its path. The file replaces the file of an earlier run."""
    path = overrides_path(suite.folder, DOUBTS)
    path.parent.mkdir(parents=True, exist_ok=True)
    records = sorted((doubt.record for doubt in doubts), key=lambda line: (line.task, line.command_digest))
    write_whole(path, json_lines(records).encode())
    return path


def _comparable(suite: Suite, tasks: Iterable[Task], submissions: Iterable[Submission]) -> Mapping[str, Answers]:
    """Return the first candidates by task, for the tasks that enough different models answered."""
    answers = _answers(suite, submissions)
    enough = {
        task: given for task, given in answers.items() if len(distinct_models(chain(*given.values()))) >= LEAST_MODELS
    }
    return {task.id: enough[task.id] for task in tasks if task.id in enough}


def _answers(suite: Suite, submissions: Iterable[Submission]) -> Mapping[str, Answers]:
    """Return the first candidates by task. A control, or a submission without models, does not count."""
    found: dict[str, dict[bytes, list[Answerer]]] = defaultdict(lambda: defaultdict(list))
    for submission in submissions:
        manifest = submission.manifest
        if manifest.method is Method.CONTROL or not manifest.models:
            continue
        models = tuple(sorted({model.casefold() for model in manifest.models}))
        for task in submission.predictions.get(suite.manifest.name, {}):
            for candidate in submission.candidates(suite.manifest.name, task)[:1]:
                if candidate.command.strip():
                    found[task][candidate.command].append(Answerer(submission.slug, models))
    return found


def distinct_models(answerers: Iterable[Answerer]) -> tuple[str, ...]:
    """Return one model for each of a largest simple choice of submissions that have no model in common."""
    used: set[str] = set()
    chosen = []
    for answerer in sorted(answerers, key=lambda each: (len(each.models), each.models)):
        if used.isdisjoint(answerer.models):
            used.update(answerer.models)
            chosen.append(answerer.models[0])
    return tuple(sorted(chosen))


def shows_something(runs: Executed) -> bool:
    """Return whether a command prints more than blank lines or changes a file, in at least one variant."""
    return any(trial.first.stdout.data.strip() or trial.first.changes for trial in runs.trials.values())


@dataclass(frozen=True)
class _TaskComparison:
    """The comparison of one task's answers with each other and with the references."""

    grader: Grader
    task: Task
    answers: Answers

    def doubts(self) -> Iterator[Doubt]:
        """Yield the references with which a group of enough systems disagrees."""
        for number, command in enumerate(self.task.references, 1):
            reference = self._executed(command)
            groups = [self._dissenters(members, reference) for members in self._groups]
            models = [distinct_models(each for member in group for each in self._givers[member]) for group in groups]
            best = max(range(len(groups)), key=lambda index: len(models[index]), default=None)
            if best is not None and len(models[best]) >= LEAST_MODELS:
                yield self._doubt(number, reference, groups[best], models[best])

    @cached_property
    def _behaviours(self) -> list[list[bytes]]:
        """The commands that show something, grouped by equal evidence. Groups of most systems come first."""
        groups: dict[tuple[tuple[str, str], ...], list[bytes]] = defaultdict(list)
        for command in sorted(self.answers):
            runs = self._executed(command)
            if runs.trials.keys() == self._case.references[0].trials.keys() and shows_something(runs):
                groups[tuple((name, trial.first.digest) for name, trial in sorted(runs.trials.items()))].append(command)
        ordered = sorted(groups.values(), key=lambda commands: -sum(len(self.answers[each]) for each in commands))
        return ordered[:MOST_BEHAVIOURS]

    @cached_property
    def _givers(self) -> Mapping[bytes, list[Answerer]]:
        """The submissions of each behaviour, by the first command of the behaviour."""
        return {
            commands[0]: [each for command in commands for each in self.answers[command]]
            for commands in self._behaviours
        }

    @cached_property
    def _groups(self) -> list[list[bytes]]:
        """For each behaviour, the behaviours that agree with it, each by its first command."""
        runs = {commands[0]: self._executed(commands[0]) for commands in self._behaviours}
        return [[other for other in runs if self._agree(runs[each], runs[other])] for each in runs]

    @cached_property
    def _case(self) -> Case:
        return self.grader.full_case(GradingItem(self.task.id, self.task.references[0]))

    def _executed(self, command: bytes) -> Executed:
        return Executed(command, self.grader.trials(self.task.id, command))

    def _agree(self, one: Executed, other: Executed) -> bool:
        if one is other:
            return True
        cases = (self._pair(one, other), self._pair(other, one))
        everywhere = (replace(case, contested=frozenset()) for case in cases)
        return all(self.grader.judge.judge(case).outcome is Outcome.PASS for case in everywhere)

    def _pair(self, candidate: Executed, reference: Executed) -> Case:
        return replace(self._case, references=(reference,), candidate=candidate, is_known_mutant=False)

    def _judge(self, candidate: Executed, reference: Executed) -> Finding:
        return self.grader.judge.judge(self._pair(candidate, reference))

    def _dissenters(self, group: Iterable[bytes], reference: Executed) -> list[bytes]:
        """Return the behaviours of a group that do not pass with this reference alone."""
        findings = {member: self._judge(self._executed(member), reference) for member in group}
        return [
            member for member, finding in findings.items() if finding.outcome not in (Outcome.PASS, Outcome.INFRA_ERROR)
        ]

    def _doubt(self, number: int, reference: Executed, group: Sequence[bytes], models: tuple[str, ...]) -> Doubt:
        candidate = self._executed(group[0])
        finding = self._judge(candidate, reference)
        variant = finding.variant or next(iter(reference.trials))
        agreeing = {
            command: tuple(self.answers[command])
            for commands in self._behaviours
            if commands[0] in group
            for command in commands
        }
        expected, shown = _behaviour(reference, variant), _behaviour(candidate, variant)
        return Doubt(self.task, number, finding, expected, shown, agreeing, models)


def _behaviour(runs: Executed, variant: str) -> Behaviour:
    run: Evidence = runs.trials[variant].first
    changes = tuple(f"{change.kind.value} {change.path.decode(errors='backslashreplace')}" for change in run.changes)
    return Behaviour(runs.command, variant, run.status, run.stdout.data[:SHOWN], changes)
