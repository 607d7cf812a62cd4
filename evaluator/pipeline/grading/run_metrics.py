"""How commands ran, in a few words of each: from evidence once, and kept under the evidence's own keys.

Evidence is large and its figures are small: a board whose verdicts are known reads these and no evidence. They
belong to this machine's store, as the time that a command took does.
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
"""Raised when a rule below changes, so that what was kept by an older one is made again."""

NOT_STARTED: Final = frozenset({126, 127})
"""Bash's exit status where a program was found but could not be started, and where none was found (bash(1), EXIT
STATUS)."""

_NOT_FOUND: Final = re.compile(rb"^(?:bash|sh): (?:line )?\d+: .*: (?:command )?not found$", re.MULTILINE)
"""A shell's word that a program was not found, also where the pipeline's last one was and its status does not tell."""

NOTHING_RUN: Final = RunMetrics(valid=False, runnable=False, exit_zero=False, clean_stderr=False)
"""Of what no shell could be given: nothing, blanks, or bytes that end early at a NUL."""


Asked = tuple[str, bytes | None]
"""A task and a command for it; None where nothing was given."""

_Kept = tuple[bool, bool, bool, bool, float]
_FORM: Final[TypeAdapter[_Kept]] = TypeAdapter(_Kept)
"""The fields of `RunMetrics` in order, as they are kept: with the time, which goes into no file."""


def figures_of(runs: Sequence[Evidence]) -> RunMetrics:
    """A command's figures from its evidence in every variant, one run each; at least one."""
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
    """How commands ran, by task and command; what has no evidence in some variant is left out.

    Where no command has any, a judge of texts graded them all, and nothing is said of those that none was needed of.
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
