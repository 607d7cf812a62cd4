"""Measure the determinism of a suite: run every reference twice, on different workers and in another order.

In the first run, each core has one job in flight. In the second run it has three, of which all but one sleep.

Both runs of a reference must give the same evidence, byte for byte. The judges mask a field that differs between two
runs, so such a field decides nothing. The fewer fields differ, the more a verdict is worth.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from evaluator.judges import find_judge, volatile_fields
from evaluator.judges.consensus.nondeterministic import volatile_words
from evaluator.pipeline.grading.cache_keys import CacheKeys
from evaluator.pipeline.grading.executor import Executor
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Evidence, OutputMode, Task, Trial
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.store import Store
from evaluator.suites.load import Suite

Execute = Callable[[Sequence[Request]], Iterator[tuple[Request, ExecutionResult]]]

MOST_PERCENT: Final = 2.0
"""The largest percentage of a suite's tasks that may have a field with two values."""

SEED: Final = 7

_BUSY: Final = "while True: pass"


@dataclass(frozen=True, slots=True)
class RunDifference:
    """The fields in which two runs of a reference differ, in one variant of the task's world.

    `fields` has the error of a run that gave no evidence. `compared` is false if the judges compare none of the fields
    for this task. `declared` is the suite's reason if the task declares that its output is volatile.
    """

    task: str
    reference: str
    variant: str
    fields: tuple[str, ...]
    compared: bool
    declared: str | None = None


@dataclass(slots=True)
class SuiteDeterminism:
    """The result for one suite. `runs` counts pairs of runs: one for each reference and variant of its world."""

    suite: str
    tasks: int
    runs: int = 0
    differences: list[RunDifference] = field(default_factory=list)

    @property
    def differing(self) -> frozenset[str]:
        """Return the ids of the tasks with a difference in a compared field that the suite does not declare."""
        return frozenset(found.task for found in self.differences if found.declared is None and found.compared)

    @property
    def declared(self) -> frozenset[str]:
        """Return the ids of the tasks with a difference that the suite declares."""
        return frozenset(found.task for found in self.differences if found.declared is not None)

    @property
    def uncompared(self) -> frozenset[str]:
        """Return the ids of the tasks that differ only in fields that no judge compares."""
        return frozenset(found.task for found in self.differences) - self.differing - self.declared

    @property
    def percent(self) -> float:
        """Return the percentage of tasks with a difference in a compared field that the suite does not declare."""
        return round(100 * len(self.differing) / max(1, self.tasks), 2)


def differing_fields(first: ExecutionResult, again: ExecutionResult) -> tuple[str, ...]:
    """Return the names of the fields in which two runs of a command differ, or the errors of runs without evidence."""
    if not (isinstance(first, Evidence) and isinstance(again, Evidence)):
        return tuple(f"not executed: {run}" for run in (first, again) if not isinstance(run, Evidence))
    if first.digest == again.digest:
        return ()
    names: list[str] = []
    for name in ("stdout", "stderr"):
        before, after = getattr(first, name), getattr(again, name)
        if before != after:
            places = volatile_words(before.data, after.data, OutputMode.EXACT)
            names += [f"{name} {place}" for place in sorted(places, key=str)] or [name]
    names += _differing_facts("file", _changes(first), _changes(again))
    shells = (run.model_dump()["shell"] or {} for run in (first, again))
    names += _differing_facts("shell", *shells)
    plain = ("ending", "status", "processes", "verifier", "changes_truncated")
    return tuple(names + [name for name in plain if getattr(first, name) != getattr(again, name)])


def is_compared(task: Task, first: ExecutionResult, again: ExecutionResult) -> bool:
    """Return whether two runs of a task's reference differ in a field that the judges compare."""
    if not (isinstance(first, Evidence) and isinstance(again, Evidence)):
        return True
    if (first.ending, first.status, first.verifier) != (again.ending, again.status, again.verifier):
        return True
    return bool(volatile_fields(Trial(first=first, again=again), task))


def _changes(evidence: Evidence) -> Mapping[str, Any]:
    return {change.path.decode("utf-8", "backslashreplace"): change for change in evidence.changes}


def _differing_facts(kind: str, first: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    names = sorted(first.keys() | again.keys())
    return [f"{kind} {name}" for name in names if first.get(name) != again.get(name)]


class _PlannedRun(NamedTuple):
    """A reference of a task, in one variant of the task's world."""

    task: Task
    reference: bytes
    variant: str
    request: Request


def _plan(suite: Suite) -> list[_PlannedRun]:
    keys = CacheKeys(suite, find_judge("exact"), "")
    return [
        _PlannedRun(task, reference, variant, request)
        for task in suite.tasks
        for reference in task.references
        for variant, request in keys.command_runs(task.id, reference).requests.items()
    ]


def measure_suite(suite: Suite, executors: Sequence[Callable[[], Execute]], progress: Progress) -> SuiteDeterminism:
    """Execute every reference of a suite once with each of two executors, and compare the evidence.

    The second executor gets the references in a random order. Each function in `executors` opens an executor.
    """
    runs = _plan(suite)
    requests = list({run.request.run_key: run.request for run in runs}.values())
    found: list[dict[tuple[str, int], ExecutionResult]] = []
    for number, open_executor in enumerate(executors):
        progress.stage(f"{suite.manifest.name}, run {number + 1}", len(requests))
        found.append({})
        for request, evidence in open_executor()(requests):
            found[-1][request.run_key] = evidence
            progress.advance()
        random.Random(SEED).shuffle(requests)  # noqa: S311 - the order is no secret
    result = SuiteDeterminism(suite.manifest.name, len(suite.tasks), len(runs))
    for run in runs:
        first, again = (results[run.request.run_key] for results in found)
        if fields := differing_fields(first, again):
            command = run.reference.decode("utf-8", "backslashreplace")
            compared = is_compared(run.task, first, again)
            difference = RunDifference(run.task.id, command, run.variant, fields, compared, run.task.volatile)
            result.differences.append(difference)
    return result


def bench_determinism(
    project: Project, progress: Progress, names: Sequence[str], *, workers: int | None = None, load: int = 0
) -> Iterator[SuiteDeterminism]:
    """Yield the result for each named suite. New containers execute the second run. Nothing is stored.

    During the second run, `load` processes outside the containers are busy.

    Raises:
        UsageError: no suite has a given name.
        MissingError: this machine has no engine.
    """
    suites = [project.suite(name) for name in names]
    for suite in suites:
        with closing(Store(project.store_path)) as store:
            executors = [Executor(suite, store, progress, workers, in_flight=jobs) for jobs in (1, None)]
            busy: list[subprocess.Popen[bytes]] = []
            try:
                yield measure_suite(suite, [_opener(executors, number, load, busy) for number in range(2)], progress)
            finally:
                for process in busy:
                    process.kill()
                    process.wait()
                for executor in executors:
                    executor.close()


def _opener(
    executors: Sequence[Executor], number: int, load: int, busy: list[subprocess.Popen[bytes]]
) -> Callable[[], Execute]:
    """Return a function that opens one executor. It closes the earlier ones first, so that their workers end.

    Before the second executor, it starts `load` busy processes and adds them to `busy`.
    """

    def open_executor() -> Execute:
        busy.extend(subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(load if number else 0))
        for earlier in executors[:number]:
            earlier.close()
        return executors[number].execute

    return open_executor
