"""Drop training pairs that are nearly a task, and drop repeated pairs.

The rules of Westenfelder et al. 2025: first pairs whose instruction or command equals that of a task, then pairs whose
instruction has a cosine of at least 0.9 to that of a task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from evaluator.corpus.pair_lines import CorpusPair
from evaluator.corpus.similar_texts import THRESHOLD, close_matches, earlier_matches, nearest_matches, plain


class Conflict(StrEnum):
    """The reason for which a pair is dropped."""

    INSTRUCTION = "same instruction"
    COMMAND = "same command"
    SIMILAR = "similar instruction"

    def description(self, threshold: float) -> str:
        """Return the reason with its measure, for a report. `threshold` is the least cosine of similar instructions."""
        return f"{self} ({f'cosine {threshold:g} or more' if self is Conflict.SIMILAR else 'exact'})"


class TaskText(NamedTuple):
    """A task for a comparison: its id, its instruction and its references."""

    id: str
    nl: str
    references: tuple[str, ...]


class Dropped(NamedTuple):
    """A pair that conflicts: its number from 0, the reason, the task or the earlier pair, and the cosine."""

    pair: int
    conflict: Conflict
    other: str
    cosine: float


def task_conflicts(
    pairs: Sequence[CorpusPair],
    tasks: Iterable[TaskText],
    threshold: float = THRESHOLD,
    advance: Callable[[], None] = lambda: None,
) -> list[Dropped]:
    """Return the pairs that conflict with a task, in the order of pairs. `advance` is called once per pair."""
    tasks = list(tasks)
    instructions = {plain(task.nl): task.id for task in tasks}
    commands = {_squeezed(command): task.id for task in tasks for command in task.references}
    found: dict[int, Dropped] = {}
    for number, pair in enumerate(pairs):
        if task := instructions.get(plain(pair.nl)):
            found[number] = Dropped(number, Conflict.INSTRUCTION, task, 1.0)
        elif task := commands.get(_squeezed(pair.command)):
            found[number] = Dropped(number, Conflict.COMMAND, task, 1.0)
    names = [task.id for task in tasks]
    matches = nearest_matches([pair.nl for pair in pairs], [task.nl for task in tasks], threshold, advance)
    for match in matches:
        found.setdefault(match.text, Dropped(match.text, Conflict.SIMILAR, names[match.other], match.cosine))
    return [found[number] for number in sorted(found)]


def contaminated_tasks(
    pairs: Sequence[CorpusPair],
    tasks: Sequence[TaskText],
    threshold: float = THRESHOLD,
    advance: Callable[[], None] = lambda: None,
) -> Mapping[str, Conflict]:
    """Return the first reason of each task that conflicts with a pair, in the order of `Conflict`.

    A pair can conflict with several tasks, of which `task_conflicts` names one. `advance` is called once per pair.
    """
    instructions, commands = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for task in tasks:
        instructions[plain(task.nl)].add(task.id)
        for command in task.references:
            commands[_squeezed(command)].add(task.id)
    near: dict[Conflict, set[str]] = {conflict: set() for conflict in Conflict}
    for pair in pairs:
        near[Conflict.INSTRUCTION] |= instructions.get(plain(pair.nl), set())
        near[Conflict.COMMAND] |= commands.get(_squeezed(pair.command), set())
    matches = close_matches([pair.nl for pair in pairs], [task.nl for task in tasks], threshold, advance)
    near[Conflict.SIMILAR] |= {tasks[match.other].id for match in matches}
    return {task: conflict for conflict in reversed(Conflict) for task in near[conflict]}


def repeated_pairs(
    pairs: Sequence[CorpusPair], threshold: float = THRESHOLD, advance: Callable[[], None] = lambda: None
) -> list[Dropped]:
    """Return the pairs that repeat an earlier one: the same or a similar instruction. `other` is its number from 1.

    Repetitions of the same instruction are compared no further, because a corpus can have thousands of them.
    """
    first: dict[str, int] = {}
    found: dict[int, Dropped] = {}
    for number, pair in enumerate(pairs):
        earlier = first.setdefault(plain(pair.nl), number)
        if earlier != number:
            found[number] = Dropped(number, Conflict.INSTRUCTION, str(earlier + 1), 1.0)
    texts = [pair.nl for pair in pairs]
    for match in earlier_matches(texts, threshold, advance, frozenset(found)):
        found[match.text] = Dropped(match.text, Conflict.SIMILAR, str(match.other + 1), match.cosine)
    return [found[number] for number in sorted(found)]


def _squeezed(command: str) -> str:
    return " ".join(command.split())
