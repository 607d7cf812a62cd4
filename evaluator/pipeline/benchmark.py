"""The benchmarks behind the speeds that this project claims."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import cycle, islice
from pathlib import Path

from evaluator.judges import find_judge
from evaluator.pipeline.bench import Bench
from evaluator.pipeline.grading import Grader
from evaluator.pipeline.keys import Subject
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.records import Observation, Task
from evaluator.sandbox.evidence import Answer, Request
from evaluator.store import Store
from evaluator.suites.load import Suite


def bench_sandbox(project: Project, progress: Progress, *, suite: str, jobs: int) -> dict[str, object]:
    """Ways of running one command side by side; see `evaluator.sandbox.benchmark`."""
    from evaluator.sandbox.benchmark import bench_sandbox as measure
    from evaluator.sandbox.engine import find_engine
    from evaluator.sandbox.image import ensure_image

    manifest = project.suite(suite).manifest
    engine = find_engine(os.environ)
    image = ensure_image(engine, manifest, progress.say)
    cpus = sorted(os.sched_getaffinity(0))
    rows, phases = measure(engine, image, manifest, progress, jobs=jobs, cpus=cpus)
    return {"rows": [asdict(row) for row in rows], "phases_ms": phases}


def repeated(suite: Suite, executions: int, *, with_processes: bool) -> tuple[Suite, list[Subject]]:
    """The suite repeated under other ids, and a candidate for each task whose text is like no other.

    A candidate is the task's second reference with a comment. Enough tasks are taken that all variants of all
    candidates are at least `executions`.
    """
    tasks: list[Task] = []
    subjects: list[Subject] = []
    planned = 0
    usable = [task for task in suite.tasks if with_processes or not _starts_processes(suite, task)]
    for number, task in enumerate(islice(cycle(usable), 100 * len(usable))):
        if planned >= executions:
            break
        tasks.append(task.model_copy(update={"id": f"{task.id}.{number}"}))
        subjects.append(Subject(tasks[-1].id, task.references[1] + f"\n# {number}".encode()))
        planned += len(suite.variants(task))
    return replace(suite, tasks=tuple(tasks)), subjects


def _starts_processes(suite: Suite, task: Task) -> bool:
    return suite.worlds[task.world].start is not None or Observation.PROCESSES in task.observe


def bench_score(
    project: Project, progress: Progress, *, suite: str, executions: int, with_processes: bool
) -> list[dict[str, object]]:
    """Seconds from nothing, with the references' evidence there, and again with nothing changed."""
    large, subjects = repeated(project.suite(suite), executions, with_processes=with_processes)
    rows = []
    with tempfile.TemporaryDirectory(prefix="bashboard-bench-") as folder:
        store = Store(Path(folder) / "store.sqlite")
        _grade(project, large, store, progress, [])
        for name, chosen in (
            ("from nothing", subjects),
            ("references there", [each._replace(command=(each.command or b"") + b" again") for each in subjects]),
            ("unchanged", subjects),
        ):
            seconds, executed = _grade(project, large, store, progress, chosen)
            rows.append({"what": name, "commands": len(chosen), "executions": executed, "seconds": round(seconds, 2)})
        store.close()
    return rows


def _grade(
    project: Project, suite: Suite, store: Store, progress: Progress, subjects: Sequence[Subject]
) -> tuple[float, int]:
    executed = 0
    bench = Bench(suite, store, progress)
    began = time.monotonic()
    try:

        def execute(requests: Sequence[Request]) -> Iterator[tuple[Request, Answer]]:
            nonlocal executed
            executed += len(requests)
            return bench.execute(requests)

        judge = find_judge(project.settings.judge)
        Grader(suite, judge, store, bench.fingerprint(), execute, progress).grade(subjects)
    finally:
        bench.close()
    return time.monotonic() - began, executed
