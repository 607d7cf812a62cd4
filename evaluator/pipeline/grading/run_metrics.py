"""Compute run metrics of commands from evidence: whether a command could run, its success, and its execution time.

The metrics of a command are computed once and stored under a digest of its evidence keys. Evidence is large and run
metrics are small. If all verdicts are known, a board is made from run metrics without reading evidence. The metrics
stay in this machine's store, because the execution time depends on the machine.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from pydantic import TypeAdapter

from evaluator.judges.consensus.prechecks import syntax_error
from evaluator.pipeline.grading.cache_keys import is_executable
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.text_metrics import cached_values
from evaluator.records import Evidence, RunMetrics, Task, digest_of
from evaluator.shell.stored_output import holds_contents, holds_output, texts_of

RULES: Final = 2
"""The version of the rules below. Raise it with every change of a rule, so that stored metrics are computed again."""

NOT_STARTED: Final = frozenset({126, 127})
"""Exit statuses of bash: a program exists but cannot be started, or no program exists (bash(1), EXIT STATUS)."""

_NOT_FOUND: Final = re.compile(rb"^(?:bash|sh): (?:line )?\d+: .*: (?:command )?not found$", re.MULTILINE)
"""A shell's message for a missing program. It also covers a program before the last one of a pipeline, which does
not set the exit status."""

NOTHING_RUN: Final = RunMetrics(valid=False, runnable=False, exit_zero=False, clean_stderr=False)
"""The metrics of a command that cannot be executed: missing, blank, or cut short by a NUL byte."""


TaskCommand = tuple[str, bytes | None]
"""A task and a command for it, or None if there is no command."""

_Fields = tuple[bool, bool, bool, bool, bool, float]
_FORM: Final[TypeAdapter[_Fields]] = TypeAdapter(_Fields)
"""The fields of `RunMetrics` in order. The stored form includes the time, which no published file contains."""


def run_metrics_of(task: Task, command: bytes, runs: Sequence[Evidence], expected: Iterable[Evidence]) -> RunMetrics:
    """Compute a command's run metrics from its evidence. `runs` holds one run per variant, and is not empty.

    `expected` holds the evidence of the task's references in all variants.
    """
    return _record(_fields(task, command, runs, expected))


def _stores_output(task: Task, command: bytes, expected: Iterable[Evidence]) -> bool:
    """Return whether a command holds an output of a reference, or the contents of a file that a reference writes."""
    if command in task.references:
        return False
    outputs, digests = set[bytes](), set[str]()
    for evidence in expected:
        outputs.add(evidence.stdout.data)
        digests.update(change.content for change in evidence.changes if change.content)
    known = (task.nl.encode(), *task.references)
    return holds_output(command, outputs, known) or holds_contents(command, digests - _digests_in(known))


def _digests_in(texts: Iterable[bytes]) -> set[str]:
    """Return the digests of the contents that references and the instruction hold themselves."""
    held = (text for whole in texts for text in texts_of(whole))
    return {hashlib.sha256(end).hexdigest() for text in held for end in (text, text + b"\n", text.rstrip(b"\n"))}


def _fields(task: Task, command: bytes, runs: Sequence[Evidence], expected: Iterable[Evidence]) -> _Fields:
    valid = not any(map(syntax_error, runs))
    return (
        valid,
        valid and all(map(_was_started, runs)),
        all(run.status == 0 for run in runs),
        not any(run.stderr.size for run in runs),
        _stores_output(task, command, expected),
        round(median(run.wall_ms for run in runs), 3),
    )


def _record(fields: _Fields) -> RunMetrics:
    valid, runnable, exit_zero, clean_stderr, stored_output, wall_ms = fields
    return RunMetrics(
        valid=valid,
        runnable=runnable,
        exit_zero=exit_zero,
        clean_stderr=clean_stderr,
        stored_output=stored_output,
        wall_ms=wall_ms,
    )


def _was_started(run: Evidence) -> bool:
    return run.status not in NOT_STARTED and not _NOT_FOUND.search(run.stderr.data)


def _reference_keys(grader: Grader, task: Task) -> tuple[str, ...]:
    """Return the evidence keys of a task's references."""
    references = (grader.keys.command_runs(task.id, reference) for reference in task.references)
    return tuple(key for reference in references for key in reference.evidence_keys)


def cached_run_metrics(grader: Grader, commands: Iterable[TaskCommand]) -> dict[TaskCommand, RunMetrics]:
    """Return the run metrics of commands. Leave out a command if any variant has no evidence of it.

    If the grader's judge compares only texts, no command has evidence, and the result is empty.
    """
    distinct = dict.fromkeys(commands)
    executable = [(task, command) for task, command in distinct if command is not None and is_executable(command)]
    tasks = {task.id: task for task in grader.suite.tasks}
    runs = {command: grader.keys.command_runs(*command).evidence_keys for command in executable}
    references = {task: _reference_keys(grader, tasks[task]) for task in {task for task, _ in executable}}
    # the words "run figures" are part of stored keys
    head = b"run figures %d" % RULES
    keys = {
        command: digest_of(head, *map(str.encode, (*own, *references[command[0]])), command[1])
        for command, own in runs.items()
    }

    def compute(command: tuple[str, bytes]) -> _Fields | None:
        evidence = grader.store.evidence((key, 0) for key in runs[command])
        if len(evidence) < len(runs[command]):
            return None
        expected = grader.store.evidence((key, 0) for key in references[command[0]])
        return _fields(tasks[command[0]], command[1], list(evidence.values()), expected.values())

    values = cached_values(grader.store, keys, compute, _FORM)
    measured: dict[TaskCommand, RunMetrics] = {command: _record(fields) for command, fields in values.items()}
    nothing = {command: NOTHING_RUN for command in distinct if not is_executable(command[1])}
    return measured | nothing if measured else {}
