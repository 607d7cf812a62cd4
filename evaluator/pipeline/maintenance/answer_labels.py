"""Read the labels of real answers to a suite, and find the labelled commands on this machine.

The tasks are split in two halves by a digest. A developer may write rules of judges from one half only. The labels of
the other half are in a file of their own, so that a developer does not read them by accident.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from evaluator.errors import FormatError, Problem
from evaluator.judges.labelled_pairs import Pair
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.records import AnswerLabel, AnswerSet, Part, RealAnswerLabel, command_digest
from evaluator.records.record_lines import read_record_lines
from evaluator.suites.load import Suite
from evaluator.wording import pluralize

FILES: Final = {Part.WRITTEN_FROM: "real_answers.jsonl", Part.HELD_BACK: "real_answers.held_back.jsonl"}
"""The files of labels in a suite's folder of overrides, for each half of the tasks."""

_HELD_BACK_DIGITS: Final = frozenset("01234")


class RealAnswers(NamedTuple):
    """The labelled answers to a suite whose commands are available, and the numbers of the set."""

    numbers: AnswerSet
    pairs: tuple[Pair, ...]


def answer_part(suite: str, task: str) -> Part:
    """Return the half that a task belongs to, by the first digit of the SHA-256 of suite, newline and task.

    >>> answer_part("core", "files-003").value
    'held-back'
    """
    digit = hashlib.sha256(f"{suite}\n{task}".encode()).hexdigest()[0]
    return Part.HELD_BACK if digit in _HELD_BACK_DIGITS else Part.WRITTEN_FROM


def answer_labels_path(project: Project, suite: str, part: Part) -> Path:
    """Return the path of a suite's labels for one half of its tasks."""
    return project.root / "fixtures" / "overrides" / suite / FILES[part]


def real_answers_of(project: Project, suite: Suite) -> RealAnswers | None:
    """Return the labelled answers to a suite, or None if the suite has no labels.

    Raises FormatError with all invalid lines of labels. A label is invalid if its task is not in the suite
    or if an earlier line labels the same command.
    """
    labels = _read_answer_labels(project, suite)
    if not labels:
        return None
    counted = [label for label in labels if label.label.counts]
    commands = _local_commands(project, suite, counted)
    pairs = tuple(
        Pair(label.task, commands[label.task, label.command_digest], None, label.label is AnswerLabel.YES)
        for label in counted
        if (label.task, label.command_digest) in commands
    )
    right = sum(label.label is AnswerLabel.YES for label in counted)
    numbers = AnswerSet(
        suite=suite.manifest.name,
        suite_version=suite.manifest.version,
        label_set=labels[0].label_set,
        right=right,
        wrong=len(counted) - right,
        left_out=len(labels) - len(counted),
        unavailable=len(counted) - len(pairs),
    )
    return RealAnswers(numbers, pairs)


def report_missing_suites(project: Project, suites: Iterable[Suite], say: Callable[[str], None]) -> None:
    """Report each suite that has labels of real answers and is not on this machine."""
    known = {suite.manifest.name for suite in suites}
    labelled = {path.parent.name for path in (project.root / "fixtures" / "overrides").glob("*/real_answers*.jsonl")}
    for name in sorted(labelled - known):
        say(f"real answers of {name}: not available without the suite; run: bashboard suite add {name}")


def availability_note(numbers: AnswerSet) -> str | None:
    """Return a line about labels that count in no result, or None if all labels count."""
    notes = []
    if numbers.left_out:
        notes.append(f"{pluralize(numbers.left_out, 'unclear or disputed answer')} left out")
    if numbers.unavailable:
        notes.append(
            f"{pluralize(numbers.unavailable, 'command')} of {numbers.right + numbers.wrong} not available; "
            f"run: bashboard submit import {numbers.suite} CLONE"
        )
    return f"real answers of {numbers.suite}: {'; '.join(notes)}" if notes else None


def _local_commands(project: Project, suite: Suite, labels: Sequence[RealAnswerLabel]) -> dict[tuple[str, str], bytes]:
    """Return the labelled commands that are in a label or in a local submission, by task and digest."""
    wanted = {(label.task, label.command_digest) for label in labels}
    commands = {(label.task, label.command_digest): label.command for label in labels if label.command is not None}
    if commands.keys() == wanted:
        return commands
    name = suite.manifest.name
    for submission in load_sound(project).submissions:
        for task in submission.predictions.get(name, ()):
            for candidate in submission.candidates(name, task):
                key = task, command_digest(candidate.command)
                if key in wanted:
                    commands[key] = candidate.command
    return commands


def _read_answer_labels(project: Project, suite: Suite) -> list[RealAnswerLabel]:
    """Return the labels of both halves. Raises FormatError with all problems."""
    problems: list[Problem] = []
    read: list[tuple[Path, int, RealAnswerLabel]] = []
    for part in FILES:
        path = answer_labels_path(project, suite.manifest.name, part)
        check = functools.partial(_check_half, suite, part)
        labels = read_record_lines(path, RealAnswerLabel, problems, check) if path.is_file() else []
        read += [(path, number, label) for number, label in labels]
    problems += _contradicting_labels(read)
    if problems:
        raise FormatError(problems)
    return [label for _, _, label in read]


def _check_half(suite: Suite, part: Part, label: RealAnswerLabel) -> None:
    """Raise UsageError if the label's task is not in the suite, and ValueError if it belongs to the other half."""
    task = suite.task(label.task)
    expected = answer_part(suite.manifest.name, task.id)
    if expected is not part:
        raise ValueError(f"task: {task.id} belongs to the other half of the tasks; move the line to {FILES[expected]}")


def _contradicting_labels(read: Sequence[tuple[Path, int, RealAnswerLabel]]) -> Iterator[Problem]:
    """Yield a problem for each command that is labelled twice, and for each line of another set of labels."""
    first: dict[tuple[str, str], str] = {}
    for path, number, label in read:
        where = f"{path.name}:{number}"
        earlier = first.setdefault((label.task, label.command_digest), where)
        if earlier != where:
            yield Problem(
                path, number, f"labels the command of {earlier} on {label.task} again; keep one of both lines"
            )
        if label.label_set != read[0][2].label_set:
            yield Problem(path, number, f"label_set: expected {read[0][2].label_set}, as in the first line of the set")
