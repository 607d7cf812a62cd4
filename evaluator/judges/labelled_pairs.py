"""Pairs whose label is known, and what verdicts on them say of a judge.

The paper's Table 4 (Westenfelder et al. 2025) takes 300 pairs of commands that do the same, and as many where
the second is another task's, ten further on. Such pairs are easy; near misses and mutants are not, and stand
beside them. Pure: pairs from tasks, figures from verdicts. Executing and judging are the pipeline's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from evaluator.records import JudgeFigures, Mistake, Outcome, PairKind, Part, Task

ROTATION: Final = 10
"""How many tasks further on the paper takes a wrong command from."""

_WRITTEN_FROM: Final[Mapping[str, frozenset[int]]] = {"core": frozenset({0, 1}), "nl2sh-alfa": frozenset({0})}
"""Suites that rules of `consensus` were written from, and the remainders by 2 of the tasks' numbers that were."""


class Pair(NamedTuple):
    """A command for a task, judged against all references but number `without`, and whether it does the same."""

    task: str
    command: bytes
    without: int | None
    equivalent: bool


def table_4_pairs(tasks: Sequence[Task]) -> Iterator[Pair]:
    """References judged by the others alone, and rotated ones. Tasks are numbered in the order of their ids.

    Where a task has two references, the second is judged by the first, as in the paper, and not the other way.
    """
    ordered = numbered(tasks)
    for number, task in enumerate(ordered):
        chosen = [1] if len(task.references) == 2 else range(len(task.references))
        yield from (Pair(task.id, task.references[each], each, True) for each in chosen)
        other = ordered[(number + ROTATION) % len(ordered)]
        if other is not task:
            yield Pair(task.id, other.references[1], 1, False)


def near_miss_pairs(tasks: Iterable[Task]) -> Iterator[Pair]:
    """Every near miss, judged by all references."""
    for task in tasks:
        yield from (Pair(task.id, command, None, False) for command in task.near_misses)


def numbered(tasks: Iterable[Task]) -> list[Task]:
    """Tasks by number: in the order of their ids, which is that of the files a foreign suite comes from."""
    return sorted((task for task in tasks if len(task.references) > 1), key=lambda task: task.id)


def parts_of(suite: str, tasks: Iterable[Task]) -> dict[str, Part]:
    """Which tasks rules were written from, and which were held back, by id."""
    halves = _WRITTEN_FROM.get(suite, frozenset())
    return {
        task.id: Part.WRITTEN_FROM if number % 2 in halves else Part.HELD_BACK
        for number, task in enumerate(numbered(tasks))
    }


class JudgedPair(NamedTuple):
    """A pair with what became of it, and the seconds that judging it took."""

    pair: Pair
    outcome: Outcome
    seconds: float = 0.0


class Origin(NamedTuple):
    """What the figures are of."""

    judge: str
    version: int
    suite: str
    suite_version: str
    kind: PairKind


def judge_metrics(
    origin: Origin, judged: Sequence[JudgedPair], parts: Mapping[str, Part], usd: float = 0.0
) -> list[JudgeFigures]:
    """Figures of all pairs, and of each part of the tasks where there is more than one. Money is told for all."""
    by_part: dict[Part, list[JudgedPair]] = {}
    for each in judged:
        by_part.setdefault(parts.get(each.pair.task, Part.HELD_BACK), []).append(each)
    if len(by_part) == 1:
        ((part, _),) = by_part.items()
        return [_metrics_of_part(origin, part, judged, usd)]
    found = [_metrics_of_part(origin, Part.ALL, judged, usd)]
    return found + [_metrics_of_part(origin, part, by_part[part], 0.0) for part in Part if part in by_part]


def _metrics_of_part(origin: Origin, part: Part, judged: Sequence[JudgedPair], usd: float) -> JudgeFigures:
    counts = Counter((each.pair.equivalent, _kept(each.outcome)) for each in judged)
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
        seconds=round(sum(each.seconds for each in judged), 3),
        usd=usd,
    )


def _kept(outcome: Outcome) -> Outcome:
    kept = (Outcome.PASS, Outcome.UNDECIDED, Outcome.INFRA_ERROR)
    return outcome if outcome in kept else Outcome.FAIL


class HardPair(NamedTuple):
    """A pair that a judge got wrong or left open, and how many other judges got it wrong too."""

    mistake: Mistake
    others: int


def hardest_pairs(mistakes: Sequence[Mistake], judge: str, most: int = 10) -> list[HardPair]:
    """The pairs that are hardest for `judge`: false passes, false failures, then what it left open.

    Among equals those come first that most other judges get wrong. Mutants are left out, for they count as wrong
    until somebody has read them, and so are pairs held back where a suite has others: who reads them one by one
    would write rules from them.
    """
    others = Counter((each.suite, each.kind, each.task, each.command, each.equivalent) for each in mistakes)
    halved = {each.suite for each in mistakes if each.part is Part.WRITTEN_FROM}
    own = [
        HardPair(each, others[each.suite, each.kind, each.task, each.command, each.equivalent] - 1)
        for each in mistakes
        if each.judge == judge
        and each.kind is not PairKind.MUTANTS
        and not (each.part is Part.HELD_BACK and each.suite in halved)
    ]
    return sorted(own, key=_hardness)[:most]


def _hardness(hard: HardPair) -> tuple[int, int, str, str, bytes]:
    mistake = hard.mistake
    is_open = mistake.finding.outcome is Outcome.UNDECIDED
    rank = 2 + (not mistake.equivalent) if is_open else int(mistake.equivalent)
    return rank, -hard.others, mistake.suite, mistake.task, mistake.command
