"""Measure the speed of the sandbox and of scoring. The project's documents state some of these speeds."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import cycle, islice
from pathlib import Path

from evaluator.judges import find_judge
from evaluator.pipeline.boards.scored_boards import board_of
from evaluator.pipeline.grading.executor import Executor
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import (
    Author,
    Candidate,
    Evidence,
    Method,
    Observation,
    Prediction,
    SubmissionManifest,
    Task,
)
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.store import Store
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite


def bench_sandbox(project: Project, progress: Progress, *, suite: str, jobs: int) -> dict[str, object]:
    """Measure several ways to run one command in the sandbox. See `evaluator.sandbox.benchmark` for the result."""
    from evaluator.sandbox.benchmark import bench_sandbox as measure
    from evaluator.sandbox.engine import find_engine
    from evaluator.sandbox.image import ensure_image

    manifest = project.suite(suite).manifest
    engine = find_engine(os.environ)
    image = ensure_image(engine, manifest, progress.say)
    cpus = sorted(os.sched_getaffinity(0))
    rows, phases = measure(engine, image, manifest, progress, jobs=jobs, cpus=cpus)
    return {"rows": [asdict(row) for row in rows], "phases_ms": phases}


@dataclass(frozen=True, slots=True)
class Load:
    """The work for one measurement: a suite that repeats its tasks under new ids, and one candidate per repetition.

    All candidates differ. `tasks` is the number of different tasks, and `references` holds the references of these
    tasks. All repetitions of a task have the same references, which are executed for only one of the repetitions.
    """

    suite: Suite
    candidates: Mapping[str, bytes]
    tasks: int
    references: frozenset[bytes]

    @property
    def variants(self) -> int:
        """The number of variants of all tasks. Each candidate is first executed once per variant of its task."""
        return sum(len(self.suite.variants(task)) for task in self.suite.tasks)

    def with_suffix(self, suffix: bytes) -> Load:
        """Return the same load with a suffix after each candidate. The store has no evidence of the new commands."""
        return replace(self, candidates={task: command + suffix for task, command in self.candidates.items()})

    def submission(self) -> Submission:
        """Return a submission of one system whose predictions are the candidates."""
        manifest = SubmissionManifest(
            format=1,
            system="Bench",
            authors=(Author(name="Bench"),),
            open_weights=True,
            method=Method.OTHER,
            suites={self.suite.manifest.name: self.suite.manifest.version},
        )
        predictions = {
            task: Prediction(task=task, candidates=(Candidate(command=command),))
            for task, command in self.candidates.items()
        }
        return Submission("bench", manifest, {self.suite.manifest.name: predictions})


def repeat_suite(suite: Suite, executions: int, *, with_processes: bool) -> Load:
    """Repeat a suite's tasks, with one candidate each, until at least `executions` executions are necessary.

    Each candidate is executed once in every variant of its task. The candidates are alternately references and near
    misses (wrong commands), each with an added comment. Half of the candidates pass. The others fail and are executed
    once more.
    """
    tasks: list[Task] = []
    candidates: dict[str, bytes] = {}
    planned = 0
    usable = [task for task in suite.tasks if with_processes or not _starts_processes(suite, task)]
    for number, task in enumerate(islice(cycle(usable), 100 * len(usable))):
        if planned >= executions:
            break
        repetition, index = divmod(number, len(usable))
        commands = (task.near_misses or task.references) if (repetition + index) % 2 else task.references[1:]
        tasks.append(task.model_copy(update={"id": f"{task.id}.{number}"}))
        candidates[tasks[-1].id] = commands[repetition % len(commands)] + b"\n# %d" % number
        planned += len(suite.variants(task))
    references = frozenset(command for task in tasks for command in task.references)
    return Load(replace(suite, tasks=tuple(tasks)), candidates, min(len(tasks), len(usable)), references)


def _starts_processes(suite: Suite, task: Task) -> bool:
    return suite.worlds[task.world].start is not None or Observation.PROCESSES in task.observe


@dataclass
class _CountingExecutor:
    """A wrapper of an executor. It counts the executions and adds up the CPU seconds of the executed commands."""

    executor: Executor
    references: frozenset[bytes]
    executions: int = 0
    of_references: int = 0
    jobs_cpu_s: float = 0.0

    def __call__(self, requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
        for request, answer in self.executor.execute(requests):
            self.executions += 1
            self.of_references += request.job.command in self.references
            self.jobs_cpu_s += answer.cpu_ms / 1000 if isinstance(answer, Evidence) else 0.0
            yield request, answer


def bench_score(
    project: Project, progress: Progress, *, suite: str, executions: int, with_processes: bool
) -> dict[str, object]:
    """Measure the time to score a board in three cases, and return the measurements.

    In the first case, the store is empty. In the second, it holds the evidence of the references but not of the
    candidates. In the third, it holds all evidence and verdicts, because the board is unchanged.

    In the result, `rows` holds one row per case, and `load` describes the candidates and repetitions. The column
    `in jobs` is the share of the workers' total time that jobs take. The total time is the duration of the case times
    the number of workers.
    """
    original = project.suite(suite)
    load = repeat_suite(original, executions, with_processes=with_processes)
    with tempfile.TemporaryDirectory(prefix="bashboard-bench-") as folder:
        store = Store(Path(folder) / "store.sqlite")
        Executor(load.suite, store, progress).find_image()
        cases = {"from nothing": load, "references there": load.with_suffix(b" again"), "unchanged": load}
        rows = [{"what": name, **_score(project, case, store, progress)} for name, case in cases.items()]
        store.close()
    description = {
        "candidates, all different": len(set(load.candidates.values())),
        "variants of them": load.variants,
        "tasks they are for": load.tasks,
        "tasks left out": len(original.tasks) - load.tasks,
        "references, each executed twice a variant for all its candidates": len(load.references),
    }
    return {"rows": rows, "load": description}


def _score(project: Project, load: Load, store: Store, progress: Progress) -> dict[str, object]:
    executor = Executor(load.suite, store, progress, in_flight=1)  # so that the shares of time are at most 1
    counting = _CountingExecutor(executor, load.references)
    began, cpu_began = time.monotonic(), time.process_time()
    try:
        judge = find_judge(project.settings.judge)
        grader = Grader(load.suite, judge, store, executor.fingerprint(), counting, progress)
        (row,) = board_of(load.suite, [load.submission()], grader).standings
        seconds = time.monotonic() - began
    finally:
        executor.close()
    return {
        "seconds": round(seconds, 2),
        "executions": counting.executions,
        "of references": counting.of_references,
        "passed": row.passed,
        "failed": row.failed,
        "in jobs": round(executor.worker_time.jobs_s / (seconds * executor.cores), 3),
        "in answers": round(executor.worker_time.answers_s / (seconds * executor.cores), 3),
        "CPU s of jobs": round(counting.jobs_cpu_s, 2),
        "CPU s of host": round(time.process_time() - cpu_began, 2),
    }
