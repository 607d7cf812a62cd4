"""Benchmark of standings and the site on synthetic boards of any size, timed part by part."""

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
from evaluator.pipeline.benchmarks.synthetic_boards import Drawing, drawing, facts_of
from evaluator.pipeline.boards.assembly import rank_submissions
from evaluator.pipeline.project import Project
from evaluator.progress import Progress

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Timed:
    """Wall and CPU seconds of a part, and the peak memory in MB of this process and its children so far."""

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
    """Return rows of `Timed`: results to a frame and the frame to standings, once per run, and then the site if `site`
    is set.

    The synthetic results stay in memory, as on a real board, and count towards the memory.
    """
    timed: list[Timed] = []

    def measure(part: str, act: Callable[[], Value]) -> Value:
        progress.say(part)
        gc.collect()
        wall, cpu = time.perf_counter(), _cpu()
        value = act()
        timed.append(Timed(part, round(time.perf_counter() - wall, 2), round(_cpu() - cpu, 2), _peak_mb()))
        return value

    drawn = measure("draw the results (not counted)", lambda: drawing(submissions, tasks, candidates, seed))
    for _ in range(runs):
        _rank(drawn, measure)
    if site:
        _build(project, drawn, measure)
    return [asdict(row) for row in timed]


def _rank(drawn: Drawing, measure: Callable[[str, Callable[[], object]], object]) -> None:
    facts = facts_of(drawn.tasks)
    frames = []
    measure("results to frame", lambda: frames.append(results_frame(drawn.results, facts)))
    (frame,) = frames
    version, calls = drawn.version, utilities_frame(facts)
    measure("frame to standings", lambda: rank_submissions(frame, calls, drawn.manifests, version, len(drawn.tasks)))


def _build(project: Project, drawn: Drawing, measure: Callable[[str, Callable[[], object]], object]) -> None:
    board = drawn.board()
    with tempfile.TemporaryDirectory(prefix="bashboard-bench-") as scratch:
        copy = Path(scratch)
        shutil.copyfile(project.root / "mkdocs.yml", copy / "mkdocs.yml")
        shutil.copytree(project.root / "site", copy / "site", ignore=shutil.ignore_patterns("board", ".board-*"))
        (copy / "evaluator").symlink_to(Path(__file__).parents[2])
        measure("write the pages", lambda: write_pages([board], copy / "site" / "board"))
        measure("build the site", lambda: build_site(copy))


def _cpu() -> float:
    each = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in each)


def _peak_mb() -> int:
    kilobytes = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return round(kilobytes / 1024)
