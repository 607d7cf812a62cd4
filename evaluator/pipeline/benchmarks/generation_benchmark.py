"""Measure the time of `bashboard generate` against a server whose replies take a fixed time.

Each run is a new process in a temporary checkout. The server has a process of its own, and tells when the first request
arrived.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import requests

from evaluator.errors import InfraError
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.wording import excerpt, pluralize

_PACKAGE: Final = Path(__file__).parents[3]
_KEY: Final = "BASHBOARD_BENCH_KEY"


@dataclass(frozen=True, slots=True)
class GenerationTiming:
    """The wall-clock and CPU seconds of one run.

    `seconds` is the time from the first request to the end, and `with_start` from the start of the process.
    `least_seconds` is the time of the replies alone. `load` is the machine's load average of one minute at the end.
    """

    run: int
    tasks: int
    parallel: int
    reply_ms: int
    least_seconds: float
    seconds: float
    with_start: float
    cpu_seconds: float
    load: float


def bench_generation(
    project: Project,
    progress: Progress,
    *,
    suite: str,
    tasks: int,
    reply_ms: int,
    parallel: int,
    methods: Sequence[str],
    runs: int,
) -> list[GenerationTiming]:
    """Return the time of each run. Raises InfraError if a run does not answer all tasks."""
    tasks = min(tasks, len(project.suite(suite).tasks))
    least_s = math.ceil(tasks / parallel) * reply_ms / 1000
    timings: list[GenerationTiming] = []
    progress.stage("generating", runs)
    with _server(reply_ms / 1000) as url:
        for run in range(1, runs + 1):
            arguments = ["generate", "bench", "--model", "double", "--base-url", url, "--key-env", _KEY]
            arguments += ["--suite", suite, "--limit", str(tasks), "--parallel", str(parallel)]
            times = _timed(project, url, [*arguments, *(f"--method={method}" for method in methods)], tasks)
            load = round(os.getloadavg()[0], 1)
            timings.append(GenerationTiming(run, tasks, parallel, reply_ms, least_s, *times, load))
            progress.advance()
    return timings


@contextlib.contextmanager
def _server(delay_s: float) -> Iterator[str]:
    """Yield the address of a server whose replies take `delay_s` seconds."""
    command = [sys.executable, "-m", "evaluator.pipeline.benchmarks.delayed_replies", str(delay_s)]
    with subprocess.Popen(command, cwd=_PACKAGE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - for the types
        yield process.stdout.readline().strip()


def _timed(project: Project, url: str, arguments: Sequence[str], tasks: int) -> tuple[float, float, float]:
    """Run the command in a new checkout with the fixtures of the project.

    Return its seconds from the first request, its seconds from the start of the process, and its CPU seconds.
    """
    with tempfile.TemporaryDirectory(prefix="bashboard-bench-") as name:
        folder = Path(name)
        (folder / "fixtures").symlink_to(project.root / "fixtures")
        shutil.copy(project.root / "pyproject.toml", folder)
        environment = {**os.environ, "PYTHONPATH": str(_PACKAGE), _KEY: "none"}
        command = [sys.executable, "-m", "evaluator.cli", *arguments]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        end, after = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        written = sorted((folder / "submissions" / "bench").glob("*.jsonl")) if ended.returncode == 0 else []
        if sum(path.read_bytes().count(b"\n") for path in written) != tasks:
            raise InfraError(f"bashboard generate did not answer {pluralize(tasks, 'task')}: {excerpt(ended.stderr)}")
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    (first,) = requests.get(url, timeout=60).json()
    return round(end - first, 2), round(end - began, 2), round(cpu_s, 2)
