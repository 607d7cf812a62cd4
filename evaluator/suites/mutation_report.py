"""This module reports the mutation test of a suite, and reads and writes the marks of equivalent mutants.

A mutant is a reference with one small change. It should fail.

    score = failed / (mutants - equivalent)

There are two reasons why a mutant passes: the suite does not detect a wrong command, or the mutant is equivalent to a
reference. Only a person can decide this. That person marks an equivalent mutant, with a reason, in
`fixtures/overrides/<suite>/equivalent.jsonl`. If the judge cannot decide on a mutant, the mutant does not count as
failed. The report lists the number of such mutants separately.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.files import write_whole
from evaluator.records import (
    Equivalence,
    Finding,
    JudgedMutant,
    MutationReport,
    OperatorTally,
    Outcome,
    StaleEquivalence,
    Task,
    TaskTally,
    WorldTally,
    command_digest,
)
from evaluator.records.record import json_lines
from evaluator.records.record_lines import read_record_lines

_FAILED: Final = frozenset({Outcome.FAIL, Outcome.TIMEOUT, Outcome.UNANSWERED})
_UNCOUNTED: Final = frozenset({Outcome.INVALID, Outcome.INFRA_ERROR})


class AskedMutant(NamedTuple):
    """A mutant of a task's reference. `reference` is its number (1-based). `operator` is the kind of change."""

    task: Task
    reference: int
    operator: str
    command: bytes


Mark = tuple[str, str]
"""Task digest and command digest: the key of an equivalence mark."""


def mutants_of_task(task: Task, make: Callable[[bytes], Iterable[tuple[str, bytes]]]) -> Iterator[AskedMutant]:
    """Yield each mutant of a task once, without mutants that equal a reference.

    For a reference, `make` yields pairs of the mutation operator and the changed command.
    """
    seen = set(task.references)
    for number, reference in enumerate(task.references, 1):
        for operator, command in make(reference):
            if command not in seen:
                seen.add(command)
                yield AskedMutant(task, number, operator, command)


def sample_of(mutants: Sequence[AskedMutant], size: int) -> list[AskedMutant]:
    """Return at most `size` mutants of a task, the same ones in each call: those with the lowest digests."""
    drawn = {
        mutant.command for mutant in heapq.nsmallest(size, mutants, key=lambda mutant: command_digest(mutant.command))
    }
    return [mutant for mutant in mutants if mutant.command in drawn]


def equivalences_path(fixtures: Path, suite: str) -> Path:
    """Return the path of the file in which people mark a suite's equivalent mutants."""
    return fixtures / "overrides" / suite / "equivalent.jsonl"


def read_equivalences(path: Path) -> tuple[Equivalence, ...]:
    """Return the marks of equivalent mutants in a file, if it exists. Raises FormatError with all invalid lines."""
    problems: list[Problem] = []
    marks: list[Equivalence] = []
    seen: dict[Mark, int] = {}
    lines = read_record_lines(path, Equivalence, problems, expected="an equivalence mark") if path.is_file() else []
    for number, mark in lines:
        first = seen.setdefault((mark.task_digest, mark.command_digest), number)
        if first != number:
            problems.append(Problem(path, number, f"marks the command of line {first} again: expected one mark"))
        marks.append(mark)
    if problems:
        raise FormatError(problems)
    return tuple(marks)


def marks_of(equivalences: Iterable[Equivalence]) -> frozenset[Mark]:
    """Return the key of each equivalence mark: the digest of its task and the digest of its command."""
    return frozenset((mark.task_digest, mark.command_digest) for mark in equivalences)


def mark_equivalent(path: Path, task: Task, command: bytes, because: str) -> Equivalence:
    """Mark a mutant as equivalent to a reference, and return the mark.

    Raises UsageError if the mutant is already marked, or if the reason `because` is too short or too long.
    """
    marks = read_equivalences(path)
    try:
        digest = command_digest(command)
        mark = Equivalence(format=1, task=task.id, task_digest=task.digest, command_digest=digest, because=because)
    except ValidationError as error:
        raise UsageError(f"--because {because!r}: expected 8 to 500 characters that say why") from error
    if (mark.task_digest, mark.command_digest) in marks_of(marks):
        raise UsageError(f"{path} marks this command of {task.id} already")
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted([*marks, mark], key=lambda mark: (mark.task, mark.command_digest))
    write_whole(path, json_lines(ordered).encode())
    return mark


def report(
    suite: str,
    findings: Mapping[AskedMutant, Finding],
    marks: Sequence[Equivalence],
    *,
    tasks: Collection[Task],
    retired: Collection[str] = (),
    whole: bool = True,
    sample: int | None = None,
) -> MutationReport:
    """Return the mutation report of `tasks` from the findings on their mutants.

    `marks` are the marks of equivalent mutants. `retired` are tasks that the suite no longer has. Their marks are
    reported as outdated. Marks of other tasks are ignored. `whole` is true if `tasks` are all tasks of the suite.
    `sample` is the maximum number of mutants of each task in `findings`, if this is not all of them.
    """
    keys = marks_of(marks)
    judged = [_judged(mutant, finding, keys) for mutant, finding in findings.items()]
    counted = [mutant for mutant in judged if mutant.outcome not in _UNCOUNTED]
    world_of = {task.id: task.world for task in tasks}
    by_operator = _groups(counted, lambda mutant: mutant.operator)
    by_world = _groups(counted, lambda mutant: world_of[mutant.task])
    by_task = [TaskTally(task=name, **counts) for name, counts in _groups(counted, lambda mutant: mutant.task)]
    equivalent = sum(mutant.equivalent for mutant in counted)
    failed = sum(mutant.outcome in _FAILED for mutant in counted)
    denominator = len(counted) - equivalent
    outcomes = Counter(mutant.outcome for mutant in judged)
    return MutationReport(
        suite=suite,
        whole=whole,
        sample=sample,
        tasks=len(tasks),
        mutants=len(counted),
        failed=failed,
        survived=sum(map(_survives, counted)),
        undecided=sum(map(_is_undecided, counted)),
        equivalent=equivalent,
        refused=outcomes[Outcome.INVALID],
        infra=outcomes[Outcome.INFRA_ERROR],
        score=failed / denominator if denominator else None,
        marked_share=equivalent / len(counted) if counted else 0.0,
        operators=tuple(OperatorTally(operator=name, **counts) for name, counts in by_operator),
        worlds=tuple(WorldTally(world=name, **counts) for name, counts in by_world),
        weak=tuple(filter(_is_weak, by_task)),
        survivors=tuple(mutant for mutant in counted if _survives(mutant) or _is_undecided(mutant)),
        stale=tuple(_stale(marks, findings, {task.id: task for task in tasks}, retired)),
    )


def _judged(mutant: AskedMutant, finding: Finding, marks: Collection[Mark]) -> JudgedMutant:
    is_marked = (mutant.task.digest, command_digest(mutant.command)) in marks
    return JudgedMutant(
        task=mutant.task.id,
        reference=mutant.reference,
        operator=mutant.operator,
        command=mutant.command,
        outcome=finding.outcome,
        reason=finding.reason,
        variant=finding.variant,
        equivalent=is_marked and finding.outcome not in _FAILED,
    )


def _survives(mutant: JudgedMutant) -> bool:
    return mutant.outcome is Outcome.PASS and not mutant.equivalent


def _is_undecided(mutant: JudgedMutant) -> bool:
    return mutant.outcome is Outcome.UNDECIDED and not mutant.equivalent


def _counts(group: Sequence[JudgedMutant]) -> dict[str, int]:
    """Return the fields of a tally."""
    return {
        "mutants": len(group),
        "failed": sum(mutant.outcome in _FAILED for mutant in group),
        "survived": sum(map(_survives, group)),
        "undecided": sum(map(_is_undecided, group)),
        "equivalent": sum(mutant.equivalent for mutant in group),
    }


def _groups(
    mutants: Sequence[JudgedMutant], name: Callable[[JudgedMutant], str]
) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the names of the mutants' groups in alphabetical order, each with the counts of its mutants."""
    grouped: dict[str, list[JudgedMutant]] = {}
    for mutant in mutants:
        grouped.setdefault(name(mutant), []).append(mutant)
    for group in sorted(grouped):
        yield group, _counts(grouped[group])


def _is_weak(tally: TaskTally) -> bool:
    return tally.score is not None and tally.score < MutationReport.least_score


def _stale(
    marks: Sequence[Equivalence],
    findings: Mapping[AskedMutant, Finding],
    tasks: Mapping[str, Task],
    retired: Collection[str],
) -> Iterator[StaleEquivalence]:
    """Yield outdated marks of equivalent mutants, with the reason.

    A mark is outdated if its task has changed or no longer exists. It is also outdated if its mutant no longer exists,
    fails, or is not valid Bash.
    """
    by_mark = {(mutant.task.digest, command_digest(mutant.command)): finding for mutant, finding in findings.items()}
    for line, mark in enumerate(marks, 1):
        task = tasks.get(mark.task)
        if task is None and mark.task not in retired:
            continue
        finding = by_mark.get((mark.task_digest, mark.command_digest))
        if task is None:
            reason = "the suite has no such task"
        elif task.digest != mark.task_digest:
            reason = "the task was reworded, or its references changed, since"
        elif finding is None:
            reason = "no reference of the task has this mutant"
        elif finding.outcome in _FAILED:
            reason = f"it fails in variant {finding.variant}, so it is not equivalent: {finding.reason}"
        elif finding.outcome is Outcome.INVALID:
            reason = "bash does not accept it, so it is not counted"
        else:
            continue
        yield StaleEquivalence(mark=mark, line=line, reason=reason)
