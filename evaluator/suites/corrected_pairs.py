"""This module finds what a corrected edition of a benchmark changed: instructions, commands, and removed tasks.

Westenfelder et al. 2025 ("LLM-Supported Natural Language to Bash Translation", table 3) corrected the tasks of
InterCode for NL2SH-ALFA, and counted the errors by class. The published lists show a part of these classes. A task of
the first list has a partner in the second list. Both lists have the same order, so partners are found by aligning them.

* `prompt`: the partner has another instruction.
* `command`: no reference of the partner is the first task's command.
* `duplicate`: the task has no partner, and another task of its world has a similar instruction or the same command.
* `removed`: the task has no partner for another reason.

A correction of the environment alone is in no list of tasks, so such a task counts as unchanged. Letter case,
punctuation and white space do not count as changes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final, NamedTuple

from evaluator.records import Task

SIMILAR: Final = 0.85
"""The minimum similarity of partners: the sum for instruction and command, each from 0 to 1."""

NEARLY_THE_SAME: Final = 0.8
"""The minimum similarity of the instructions of duplicates."""

_BETWEEN_WORDS: Final = re.compile(r"\W+")
_SPACES: Final = re.compile(r"\s+")


class CorrectionClass(StrEnum):
    """The error of a task that a correction shows. Several classes of one task are counted as their combination."""

    DUPLICATE = "duplicate"
    PROMPT = "prompt"
    COMMAND = "command"
    REMOVED = "removed"


class CorrectedPair(NamedTuple):
    """A task, its partner in the corrected edition if it has one, and the classes of its errors."""

    task: str
    partner: str | None
    classes: tuple[CorrectionClass, ...]


PUBLISHED: Final[Mapping[str, int]] = {
    "duplicate": 11,
    "prompt": 17,
    "command": 24,
    "environment": 18,
    "prompt and command": 29,
    "prompt and environment": 0,
    "command and environment": 3,
    "prompt, command and environment": 11,
    "valid": 111,
}
"""The published numbers of tasks with each error, of 224 tasks."""


def corrected_pairs(first: Sequence[Task], corrected: Sequence[Task]) -> list[CorrectedPair]:
    """Compare the tasks of each world with the corrected tasks of the world with the same name.

    The ids of tasks give their order.
    """
    first, corrected = (sorted(tasks, key=lambda task: task.id) for tasks in (first, corrected))
    pairs: list[CorrectedPair] = []
    for world in sorted({task.world for task in first}):
        mine = [task for task in first if task.world == world]
        partners = _align(mine, [task for task in corrected if task.world == world])
        pairs += [_classified(task, partners.get(task.id), first) for task in mine]
    return pairs


def correction_counts(pairs: Sequence[CorrectedPair]) -> dict[str, int]:
    """Return the number of tasks with each class or combination of classes, and of unchanged tasks."""
    counts = Counter(" and ".join(pair.classes) or "unchanged" for pair in pairs)
    names = ("duplicate", "removed", "prompt", "command", "prompt and command", "unchanged")
    return {name: counts[name] for name in names}


def _align(first: Sequence[Task], second: Sequence[Task]) -> dict[str, Task]:
    """Map tasks to partners so that the sum of similarities is largest and both lists keep their order."""
    gains = [[_similarity(one, other) - SIMILAR for other in second] for one in first]
    best = [[0.0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for row in range(len(first) - 1, -1, -1):
        for column in range(len(second) - 1, -1, -1):
            joined = best[row + 1][column + 1] + gains[row][column]
            best[row][column] = max(best[row + 1][column], best[row][column + 1], joined)
    partners: dict[str, Task] = {}
    row = column = 0
    while row < len(first) and column < len(second):
        if best[row][column] == best[row + 1][column]:
            row += 1
        elif best[row][column] == best[row][column + 1]:
            column += 1
        else:
            partners[first[row].id] = second[column]
            row, column = row + 1, column + 1
    return partners


def _similarity(one: Task, other: Task) -> float:
    commands = max(_ratio(_text(one.references[0]), _text(command)) for command in other.references)
    return _ratio(_words(one.nl), _words(other.nl)) + commands


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio() if one != other else 1.0


def _words(text: str) -> str:
    return _BETWEEN_WORDS.sub(" ", text).strip().casefold()


def _text(command: bytes) -> str:
    return _SPACES.sub(" ", command.decode(errors="replace")).strip()


def _classified(task: Task, partner: Task | None, first: Sequence[Task]) -> CorrectedPair:
    if partner is None:
        others = (other for other in first if other.id != task.id or other.world != task.world)
        duplicate = any(_are_duplicates(task, other) for other in others)
        found = CorrectionClass.DUPLICATE if duplicate else CorrectionClass.REMOVED
        return CorrectedPair(task.id, None, (found,))
    classes = []
    if _words(task.nl) != _words(partner.nl):
        classes.append(CorrectionClass.PROMPT)
    if _text(task.references[0]) not in map(_text, partner.references):
        classes.append(CorrectionClass.COMMAND)
    return CorrectedPair(task.id, partner.id, tuple(classes))


def _are_duplicates(one: Task, other: Task) -> bool:
    same = one.world == other.world and _text(one.references[0]) == _text(other.references[0])
    return same or (one.world == other.world and _ratio(_words(one.nl), _words(other.nl)) >= NEARLY_THE_SAME)
