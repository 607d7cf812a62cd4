"""Measure the time to compute standings and to build the site on synthetic boards. Each part is timed separately."""

from __future__ import annotations

import gc
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from evaluator.leaderboard.build import build_site
from evaluator.leaderboard.write import write_pages
from evaluator.metrics.frames import results_frame, utilities_frame
from evaluator.pipeline.benchmarks.synthetic_boards import SyntheticResults, facts_of, synthetic_results
from evaluator.pipeline.boards.assembly import rank_submissions
from evaluator.pipeline.project import Project
from evaluator.progress import Progress

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class PartTiming:
    """The wall-clock and CPU seconds of one measured part of the benchmark.

    `peak_mb` is the peak memory since the start, including child processes.
    """

    part: str
    seconds: float
    cpu_seconds: float
    peak_mb: int


def bench_standings(
    project: Project,
    progress: Progress,
    *,
    submissions: int,
    tasks: int,
    candidates: int,
    runs: int,
    site: bool,
    seed: int = 1,
) -> list[dict[str, object]]:
    """Compute standings from random results `runs` times, and return one row per measured part of this work.

    The random results stay in memory, so the peak memory in a row includes them. If `site` is set, also write the board
    pages and build the site, once after all runs.
    """
    timings: list[PartTiming] = []

    def measure(part: str, run: Callable[[], Value]) -> Value:
        progress.say(part)
        gc.collect()
        wall, cpu = time.perf_counter(), _cpu()
        value = run()
        timings.append(PartTiming(part, round(time.perf_counter() - wall, 2), round(_cpu() - cpu, 2), _peak_mb()))
        return value

    data = measure("draw the results (not counted)", lambda: synthetic_results(submissions, tasks, candidates, seed))
    for _ in range(runs):
        _rank(data, measure)
    if site:
        _build(project, data, measure)
    return [asdict(row) for row in timings]


def _rank(data: SyntheticResults, measure: Callable[[str, Callable[[], object]], object]) -> None:
    facts = facts_of(data.tasks)
    frames = []
    measure("results to frame", lambda: frames.append(results_frame(data.results, facts)))
    (frame,) = frames
    version, calls = data.version, utilities_frame(facts)
    measure("frame to standings", lambda: rank_submissions(frame, calls, data.manifests, version, len(data.tasks)))


def _build(project: Project, data: SyntheticResults, measure: Callable[[str, Callable[[], object]], object]) -> None:
    board = data.board()
    with tempfile.TemporaryDirectory(prefix="bashboard-bench-") as scratch:
        root = Path(scratch)
        shutil.copyfile(project.root / "mkdocs.yml", root / "mkdocs.yml")
        shutil.copytree(project.root / "site", root / "site", ignore=shutil.ignore_patterns("board", ".board-*"))
        (root / "evaluator").symlink_to(Path(__file__).parents[2])
        measure("write the pages", lambda: write_pages([board], root / "site" / "board"))
        measure("build the site", lambda: build_site(root))


def _cpu() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _peak_mb() -> int:
    kilobytes = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return round(kilobytes / 1024)
