"""Mutation testing of a suite: its mutants, the report of their verdicts, and the marks of equivalent mutants.

    score = failed / (mutants - equivalent)

A mutant that passes is either a wrong answer that the worlds do not detect, or it is equivalent to a reference. Only a
person can decide that it is equivalent. That person marks it, with a reason, in
`fixtures/overrides/<suite>/equivalent.jsonl`. A mutant that the judge cannot decide did not fail. It lowers the score
like a survivor and is counted separately. The pipeline makes the mutants and judges them.
"""

from __future__ import annotations

import json
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
    command_digest,
)
from evaluator.records.record import json_lines, read_format

_FAILED: Final = frozenset({Outcome.FAIL, Outcome.TIMEOUT, Outcome.UNANSWERED})
_UNCOUNTED: Final = frozenset({Outcome.INVALID, Outcome.INFRA_ERROR})


class AskedMutant(NamedTuple):
    """A mutant of one reference of a task. `reference` is the reference's number (1-based), `operator` the mutation."""

    task: Task
    reference: int
    operator: str
    command: bytes


Mark = tuple[str, str]
"""Task digest and command digest: the key of an equivalence mark."""


def mutants_of_task(task: Task, make: Callable[[bytes], Iterable[tuple[str, bytes]]]) -> Iterator[AskedMutant]:
    """Yield every mutant of every reference once, without the references. `make` yields operators and commands."""
    seen = set(task.references)
    for number, reference in enumerate(task.references, 1):
        for operator, command in make(reference):
            if command not in seen:
                seen.add(command)
                yield AskedMutant(task, number, operator, command)


def equivalences_path(fixtures: Path, suite: str) -> Path:
    """Return the path of a suite's equivalence marks."""
    return fixtures / "overrides" / suite / "equivalent.jsonl"


def read_equivalences(path: Path) -> tuple[Equivalence, ...]:
    """Return the marks in a file, or none if the file does not exist. Raises FormatError that names every bad line."""
    problems: list[Problem] = []
    marks: list[Equivalence] = []
    seen: dict[Mark, int] = {}
    for number, line in enumerate(path.read_bytes().splitlines() if path.is_file() else (), 1):
        try:
            value = json.loads(line)
            read_format(value, path.name)
            mark = Equivalence.model_validate(value)
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False)
            problems += [Problem(path, number, f"{'.'.join(map(str, each['loc']))}: {each['msg']}") for each in details]
            continue
        except ValueError as error:
            problems.append(Problem(path, number, f"does not read as an equivalence: {error}"))
            continue
        first = seen.setdefault((mark.task_digest, mark.command_digest), number)
        if first != number:
            problems.append(Problem(path, number, f"marks the command of line {first} again: expected one mark"))
        marks.append(mark)
    if problems:
        raise FormatError(problems)
    return tuple(marks)


def marks_of(equivalences: Iterable[Equivalence]) -> frozenset[Mark]:
    """Return the keys of equivalence marks."""
    return frozenset((each.task_digest, each.command_digest) for each in equivalences)


def mark_equivalent(path: Path, task: Task, command: bytes, because: str) -> Equivalence:
    """Add a mark to the file and return it. Raises UsageError if it exists already or if the reason is not valid."""
    marks = read_equivalences(path)
    try:
        mark = Equivalence(
            format=1,
            task=task.id,
            task_digest=task.digest,
            command_digest=command_digest(command),
            because=because,
        )
    except ValidationError as error:
        raise UsageError(f"--because {because!r}: expected 8 to 500 characters that say why") from error
    if any((each.task_digest, each.command_digest) == (mark.task_digest, mark.command_digest) for each in marks):
        raise UsageError(f"{path} marks this command of {task.id} already")
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted([*marks, mark], key=lambda each: (each.task, each.command_digest))
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
) -> MutationReport:
    """Return the mutation report of `tasks`. Marks of all other tasks are ignored, except those of `retired` tasks.

    `retired` are the ids of marked tasks that the suite no longer has. `whole` is true if `tasks` are all of its tasks.
    """
    known = marks_of(marks)
    judged = [_judged(asked, finding, known) for asked, finding in findings.items()]
    counted = [each for each in judged if each.outcome not in _UNCOUNTED]
    equivalent = sum(each.equivalent for each in counted)
    failed = sum(each.outcome in _FAILED for each in counted)
    left = len(counted) - equivalent
    outcomes = Counter(each.outcome for each in judged)
    return MutationReport(
        suite=suite,
        whole=whole,
        tasks=len(tasks),
        mutants=len(counted),
        failed=failed,
        survived=sum(_survives(each) for each in counted),
        undecided=sum(_is_open(each) for each in counted),
        equivalent=equivalent,
        refused=outcomes[Outcome.INVALID],
        infra=outcomes[Outcome.INFRA_ERROR],
        score=failed / left if left else None,
        marked_share=equivalent / len(counted) if counted else 0.0,
        operators=tuple(_tallies(counted)),
        survivors=tuple(each for each in counted if _survives(each) or _is_open(each)),
        stale=tuple(_stale(marks, findings, {task.id: task for task in tasks}, retired)),
    )


def _judged(asked: AskedMutant, finding: Finding, marks: Collection[Mark]) -> JudgedMutant:
    marked = (asked.task.digest, command_digest(asked.command)) in marks
    return JudgedMutant(
        task=asked.task.id,
        reference=asked.reference,
        operator=asked.operator,
        command=asked.command,
        outcome=finding.outcome,
        reason=finding.reason,
        variant=finding.variant,
        equivalent=marked and finding.outcome not in _FAILED,
    )


def _survives(mutant: JudgedMutant) -> bool:
    return mutant.outcome is Outcome.PASS and not mutant.equivalent


def _is_open(mutant: JudgedMutant) -> bool:
    return mutant.outcome is Outcome.UNDECIDED and not mutant.equivalent


def _tallies(counted: Sequence[JudgedMutant]) -> Iterator[OperatorTally]:
    for operator in sorted({each.operator for each in counted}):
        group = [each for each in counted if each.operator == operator]
        yield OperatorTally(
            operator=operator,
            mutants=len(group),
            failed=sum(each.outcome in _FAILED for each in group),
            survived=sum(map(_survives, group)),
            undecided=sum(map(_is_open, group)),
            equivalent=sum(each.equivalent for each in group),
        )


def _stale(
    marks: Sequence[Equivalence],
    findings: Mapping[AskedMutant, Finding],
    tasks: Mapping[str, Task],
    retired: Collection[str],
) -> Iterator[StaleEquivalence]:
    """Yield marks that do not apply: the task or mutant is gone or changed, or a variant or Bash refutes it."""
    found = {(asked.task.digest, command_digest(asked.command)): finding for asked, finding in findings.items()}
    for line, mark in enumerate(marks, 1):
        task = tasks.get(mark.task)
        if task is None and mark.task not in retired:
            continue
        finding = found.get((mark.task_digest, mark.command_digest))
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
