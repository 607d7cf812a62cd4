"""Run metrics: how a command ran, computed from its evidence once and stored under the evidence keys.

Evidence is large and these metrics are small. A board with known verdicts reads the metrics and no evidence. They stay
in this machine's store, because the execution time depends on the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from pydantic import TypeAdapter

from evaluator.judges.consensus.early import syntax_error
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


Asked = tuple[str, bytes | None]
"""A task and a command for it, or None if there is no command."""

_Kept = tuple[bool, bool, bool, bool, float]
_FORM: Final[TypeAdapter[_Kept]] = TypeAdapter(_Kept)
"""The fields of `RunMetrics` in order. The stored form includes the time, which no published file contains."""


def figures_of(runs: Sequence[Evidence]) -> RunMetrics:
    """Return a command's metrics from its evidence, one run in each variant. Expects at least one run."""
    return _record(_figures(runs))


def _figures(runs: Sequence[Evidence]) -> _Kept:
    valid = not any(map(syntax_error, runs))
    return (
        valid,
        valid and all(map(_was_started, runs)),
        all(run.status == 0 for run in runs),
        not any(run.stderr.size for run in runs),
        round(median(run.wall_ms for run in runs), 3),
    )


def _record(kept: _Kept) -> RunMetrics:
    valid, runnable, exit_zero, clean_stderr, wall_ms = kept
    return RunMetrics(valid=valid, runnable=runnable, exit_zero=exit_zero, clean_stderr=clean_stderr, wall_ms=wall_ms)


def _was_started(run: Evidence) -> bool:
    return run.status not in NOT_STARTED and not _NOT_FOUND.search(run.stderr.data)


def run_figures(grader: Grader, asked: Iterable[Asked]) -> dict[Asked, RunMetrics]:
    """Return how commands ran, by task and command, without the commands that lack evidence in a variant.

    Return nothing if no command has evidence: then the judge compares texts and needs no execution.
    """
    wanted = dict.fromkeys(asked)
    executed = [(task, command) for task, command in wanted if command is not None and is_executable(command)]
    runs = {each: grader.keys.command_runs(*each).evidence_keys for each in executed}
    keys = {each: digest_of(b"run figures %d" % RULES, *map(str.encode, found)) for each, found in runs.items()}

    def compute(each: tuple[str, bytes]) -> _Kept | None:
        found = grader.store.evidence((key, 0) for key in runs[each])
        return _figures(list(found.values())) if len(found) == len(runs[each]) else None

    kept = cached_values(grader.store, keys, compute, _FORM)
    measured: dict[Asked, RunMetrics] = {each: _record(figures) for each, figures in kept.items()}
    nothing = {each: NOTHING_RUN for each in wanted if not is_executable(each[1])}
    return measured | nothing if measured else {}
