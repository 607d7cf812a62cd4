"""Compute run metrics of commands from evidence: whether a command could run, its success, and its execution time.

The metrics of a command are computed once and stored under a digest of its evidence keys. Evidence is large and run
metrics are small. If all verdicts are known, a board is made from run metrics without reading evidence. The metrics
stay in this machine's store, because the execution time depends on the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from pydantic import TypeAdapter

from evaluator.judges.consensus.prechecks import syntax_error
from evaluator.pipeline.grading.cache_keys import is_executable
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.text_metrics import cached_values
from evaluator.records import Evidence, RunMetrics, digest_of

RULES: Final = 1
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

_Fields = tuple[bool, bool, bool, bool, float]
_FORM: Final[TypeAdapter[_Fields]] = TypeAdapter(_Fields)
"""The fields of `RunMetrics` in order. The stored form includes the time, which no published file contains."""


def run_metrics_of(runs: Sequence[Evidence]) -> RunMetrics:
    """Compute a command's run metrics from its evidence. `runs` holds one run per variant, and is not empty."""
    return _record(_fields(runs))


def _fields(runs: Sequence[Evidence]) -> _Fields:
    valid = not any(map(syntax_error, runs))
    return (
        valid,
        valid and all(map(_was_started, runs)),
        all(run.status == 0 for run in runs),
        not any(run.stderr.size for run in runs),
        round(median(run.wall_ms for run in runs), 3),
    )


def _record(fields: _Fields) -> RunMetrics:
    valid, runnable, exit_zero, clean_stderr, wall_ms = fields
    return RunMetrics(valid=valid, runnable=runnable, exit_zero=exit_zero, clean_stderr=clean_stderr, wall_ms=wall_ms)


def _was_started(run: Evidence) -> bool:
    return run.status not in NOT_STARTED and not _NOT_FOUND.search(run.stderr.data)


def cached_run_metrics(grader: Grader, commands: Iterable[TaskCommand]) -> dict[TaskCommand, RunMetrics]:
    """Return the run metrics of commands. Leave out a command if any variant has no evidence of it.

    If the grader's judge compares only texts, no command has evidence, and the result is empty.
    """
    distinct = dict.fromkeys(commands)
    executable = [(task, command) for task, command in distinct if command is not None and is_executable(command)]
    runs = {command: grader.keys.command_runs(*command).evidence_keys for command in executable}
    # the words "run figures" are part of stored keys
    keys = {command: digest_of(b"run figures %d" % RULES, *map(str.encode, own)) for command, own in runs.items()}

    def compute(command: tuple[str, bytes]) -> _Fields | None:
        evidence = grader.store.evidence((key, 0) for key in runs[command])
        return _fields(list(evidence.values())) if len(evidence) == len(runs[command]) else None

    values = cached_values(grader.store, keys, compute, _FORM)
    measured: dict[TaskCommand, RunMetrics] = {command: _record(fields) for command, fields in values.items()}
    nothing = {command: NOTHING_RUN for command in distinct if not is_executable(command[1])}
    return measured | nothing if measured else {}
