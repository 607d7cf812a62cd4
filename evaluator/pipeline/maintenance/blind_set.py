"""Read the blind set of a suite: answers by writers who had not seen the worlds, with the labels of a second reader.

The tasks are split in two halves by a digest. Worlds and rules may be changed because of one half only. The other half
is held back, and measured only on request. The same reader reads the answers of a new attack, which have no labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from evaluator.errors import FormatError, Problem
from evaluator.judges.labelled_pairs import Pair
from evaluator.records import AnswerKind, AttackAnswer, BlindAnswer, Part
from evaluator.records.record_lines import read_record_lines
from evaluator.submissions.reply_parser import bash_error
from evaluator.suites.load import Suite

FILE_NAME: Final = "blind.jsonl"
"""The name of the file in the folder of its suite."""

_HELD_BACK_DIGITS: Final = frozenset("01234567")

AnyAnswer = TypeVar("AnyAnswer", bound=AttackAnswer)
_Read = list[tuple[Path, int, AnyAnswer]]


def blind_part(task: str) -> Part:
    """Return the half that a task belongs to, by the first digit of the SHA-256 of its id.

    >>> blind_part("files-003").value, blind_part("files-004").value
    ('written-from', 'held-back')
    """
    digit = hashlib.sha256(task.encode()).hexdigest()[0]
    return Part.HELD_BACK if digit in _HELD_BACK_DIGITS else Part.WRITTEN_FROM


@dataclass(frozen=True, slots=True)
class BlindSet:
    """The answers of a blind set that count, and those that are left out because the second reader disagrees.

    `version` is the version of the set. It is None for the answers of a new attack: all of them count, and their tasks
    are not split.
    """

    version: int | None
    answers: tuple[AttackAnswer, ...]
    left_out: tuple[AttackAnswer, ...] = ()

    def part_of(self, task: str) -> Part:
        """Return the half that a task belongs to."""
        return Part.ALL if self.version is None else blind_part(task)

    def pairs(self, parts: Iterable[Part] = tuple(Part)) -> list[Pair]:
        """Return the answers to the tasks of these parts as labelled pairs."""
        wanted = set(parts)
        return [
            Pair(answer.task, answer.command, None, answer.kind is AnswerKind.RIGHT)
            for answer in self.answers
            if self.part_of(answer.task) in wanted
        ]


def read_blind_set(suite: Suite) -> BlindSet | None:
    """Return the blind set of a suite, or None if the suite has none. Raises FormatError with all problems."""
    path = suite.folder / FILE_NAME
    if not path.is_file():
        return None
    problems: list[Problem] = []
    read = _read(suite, path, BlindAnswer, problems)
    problems += _repeated(read, lambda answer: (answer.task, answer.kind), "has a second {kind} answer to {task}")
    problems += _repeated(read, lambda answer: (answer.task, answer.command), "has the command of an answer to {task}")
    problems += (
        Problem(path, number, f"label_set: expected {read[0][2].label_set}, as in the first line of the set")
        for _, number, answer in read
        if answer.label_set != read[0][2].label_set
    )
    _raise(problems)
    answers = [answer for _, _, answer in read]
    return BlindSet(
        answers[0].label_set if answers else 1,
        tuple(answer for answer in answers if not answer.is_disputed),
        tuple(answer for answer in answers if answer.is_disputed),
    )


def read_attack(suite: Suite, paths: Sequence[Path]) -> list[AttackAnswer]:
    """Return the answers in the files of writers. Raises FormatError with the problems of all files.

    A task may have several answers of a kind. A command may answer a task only once.
    """
    problems: list[Problem] = []
    read = [row for path in paths for row in _read(suite, path, AttackAnswer, problems)]
    problems += _repeated(read, lambda answer: (answer.task, answer.command), "has the command of an answer to {task}")
    _raise(problems)
    return [answer for _, _, answer in read]


def _read(suite: Suite, path: Path, record: type[AnyAnswer], problems: list[Problem]) -> _Read[AnyAnswer]:
    def check(answer: AnyAnswer) -> None:
        suite.task(answer.task)
        error = bash_error(answer.command.decode(errors="surrogateescape"))
        if error is not None:
            raise ValueError(f"command: {error}")

    return [(path, number, answer) for number, answer in read_record_lines(path, record, problems, check)]


def _repeated(read: _Read[AnyAnswer], key: Callable[[AnyAnswer], Hashable], what: str) -> Iterator[Problem]:
    """Yield a problem for each answer with the key of an earlier one."""
    first: dict[Hashable, tuple[Path, int]] = {}
    for path, number, answer in read:
        place = first.setdefault(key(answer), (path, number))
        if place != (path, number):
            words = what.format(kind=answer.kind.value, task=answer.task)
            yield Problem(path, number, f"{words}; the first is in {place[0].name}:{place[1]}: keep one of both lines")


def _raise(problems: Sequence[Problem]) -> None:
    if problems:
        raise FormatError(sorted(problems, key=lambda problem: (str(problem.path), problem.line)))
