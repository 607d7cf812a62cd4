"""Build pairs of commands with a known label (equivalent or not), and compute a judge's metrics on these pairs.

Table 4 of Westenfelder et al. 2025 has 300 equivalent pairs and 300 pairs that are not equivalent. A pair that is not
equivalent combines the commands of two tasks. Such pairs are easy to decide. Near misses and mutants are harder, so the
metrics cover them too. This module is pure: the pipeline executes and judges the pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from evaluator.records import JudgeFigures, Mistake, Outcome, PairKind, Part, Task

ROTATION: Final = 10
"""Distance, in tasks, from which the paper takes a wrong command."""

_WRITTEN_FROM: Final[Mapping[str, frozenset[int]]] = {
    "core": frozenset({0, 1}),
    "programs": frozenset({0, 1}),
    "nl2sh-alfa": frozenset({0}),
}
"""Suites from which rules of `consensus` were developed. The values select the tasks used: task number modulo 2."""


class Pair(NamedTuple):
    """A command, with a label that tells whether it is equivalent to the references of a task.

    `without` is the index of a reference that the judge must not use. If it is None, the judge compares the command
    with all references.
    """

    task: str
    command: bytes
    without: int | None
    equivalent: bool


def table_4_pairs(tasks: Sequence[Task]) -> Iterator[Pair]:
    """Yield labelled pairs as in Table 4 of Westenfelder et al. 2025, from these tasks.

    In an equivalent pair, a reference is compared with the other references of its task. If a task has two references,
    only the second is compared with the first, as in the paper. A pair that is not equivalent takes the second
    reference of another task: the task ten places later, in the order of their ids.
    """
    ordered = numbered(tasks)
    for number, task in enumerate(ordered):
        indices = [1] if len(task.references) == 2 else range(len(task.references))
        yield from (Pair(task.id, task.references[index], index, True) for index in indices)
        other = ordered[(number + ROTATION) % len(ordered)]
        if other is not task:
            yield Pair(task.id, other.references[1], 1, False)


def near_miss_pairs(tasks: Iterable[Task]) -> Iterator[Pair]:
    """Yield a pair for each near miss of each task: a wrong command that resembles a right one.

    The judge compares the near miss with all references.
    """
    for task in tasks:
        yield from (Pair(task.id, command, None, False) for command in task.near_misses)


def numbered(tasks: Iterable[Task]) -> list[Task]:
    """Return the tasks with two or more references, sorted by id. The position of a task in this list is its number."""
    return sorted((task for task in tasks if len(task.references) > 1), key=lambda task: task.id)


def parts_of(suite: str, tasks: Iterable[Task]) -> dict[str, Part]:
    """Map each task id to a part: tasks used to write the rules of `consensus`, or tasks held back to test them."""
    halves = _WRITTEN_FROM.get(suite, frozenset())
    return {
        task.id: Part.WRITTEN_FROM if number % 2 in halves else Part.HELD_BACK
        for number, task in enumerate(numbered(tasks))
    }


class JudgedPair(NamedTuple):
    """A pair, the outcome that a judge gave it, and the time of this judgement in seconds."""

    pair: Pair
    outcome: Outcome
    seconds: float = 0.0


class Origin(NamedTuple):
    """The judge, the suite, the kind of pairs and the judge's models that a set of metrics describes."""

    judge: str
    version: int
    suite: str
    suite_version: str
    kind: PairKind
    model: str = ""


def judge_metrics(
    origin: Origin, pairs: Sequence[JudgedPair], parts: Mapping[str, Part], usd: float = 0.0
) -> list[JudgeFigures]:
    """Return a judge's metrics on all pairs, and then on the pairs of each part of the tasks.

    `parts` tells which tasks were used to write the judge's rules, and which were held back. If all tasks are in one
    part, the result has only one item. Only the first item contains the cost in US dollars.
    """
    by_part: dict[Part, list[JudgedPair]] = {}
    for pair in pairs:
        by_part.setdefault(parts.get(pair.pair.task, Part.HELD_BACK), []).append(pair)
    if len(by_part) == 1:
        ((part, _),) = by_part.items()
        return [_metrics_of_part(origin, part, pairs, usd)]
    metrics = [_metrics_of_part(origin, Part.ALL, pairs, usd)]
    return metrics + [_metrics_of_part(origin, part, by_part[part], 0.0) for part in Part if part in by_part]


def _metrics_of_part(origin: Origin, part: Part, pairs: Sequence[JudgedPair], usd: float) -> JudgeFigures:
    counts = Counter((judged.pair.equivalent, _counted_as(judged.outcome)) for judged in pairs)
    return JudgeFigures(
        **origin._asdict(),
        part=part,
        equivalent_passed=counts[True, Outcome.PASS],
        equivalent_failed=counts[True, Outcome.FAIL],
        equivalent_undecided=counts[True, Outcome.UNDECIDED],
        wrong_passed=counts[False, Outcome.PASS],
        wrong_failed=counts[False, Outcome.FAIL],
        wrong_undecided=counts[False, Outcome.UNDECIDED],
        infra_errors=counts[True, Outcome.INFRA_ERROR] + counts[False, Outcome.INFRA_ERROR],
        seconds=round(sum(judged.seconds for judged in pairs), 3),
        usd=usd,
    )


def _counted_as(outcome: Outcome) -> Outcome:
    separate = (Outcome.PASS, Outcome.UNDECIDED, Outcome.INFRA_ERROR)
    return outcome if outcome in separate else Outcome.FAIL


class HardPair(NamedTuple):
    """A pair that a judge decided wrongly or left undecided. `others` counts the other judges with such a mistake."""

    mistake: Mistake
    others: int


_PAIR_OF: Final = attrgetter("suite", "kind", "task", "command", "equivalent")
"""Identifies the pair of a mistake."""


def hardest_pairs(mistakes: Sequence[Mistake], judge: str, most: int = 10) -> list[HardPair]:
    """Return the pairs that are hardest for `judge`: false passes, then false failures, then undecided pairs.

    Within each group, the pairs that most other judges decide wrongly come first. The function leaves out mutants,
    because a person has not confirmed their label "wrong". It also leaves out held-back tasks of a suite from which
    rules were written. A developer must not see these tasks.
    """
    judges_wrong = Counter(map(_PAIR_OF, mistakes))
    developed_suites = {mistake.suite for mistake in mistakes if mistake.part is Part.WRITTEN_FROM}
    pairs = [
        HardPair(mistake, judges_wrong[_PAIR_OF(mistake)] - 1)
        for mistake in mistakes
        if mistake.judge == judge
        and mistake.kind is not PairKind.MUTANTS
        and not (mistake.part is Part.HELD_BACK and mistake.suite in developed_suites)
    ]
    return sorted(pairs, key=_hardness)[:most]


def _hardness(pair: HardPair) -> tuple[int, int, str, str, bytes]:
    mistake = pair.mistake
    is_open = mistake.finding.outcome is Outcome.UNDECIDED
    rank = 2 + (not mistake.equivalent) if is_open else int(mistake.equivalent)
    return rank, -pair.others, mistake.suite, mistake.task, mistake.command
