"""Measure builds of the site on synthetic projects: time, memory and size, and how soon a browser can use the pages.

Each build is a command of its own, as a maintainer types it. So its seconds have the start of Python, and its memory
has all processes.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from evaluator.errors import InfraError, MissingError
from evaluator.leaderboard.build import site_server
from evaluator.pipeline.benchmarks.synthetic_boards import SUITE
from evaluator.pipeline.benchmarks.synthetic_projects import commit_submissions, write_project
from evaluator.progress import Progress
from evaluator.wording import pluralize

_PACKAGE: Final = Path(__file__).parents[3]
_SAMPLE_S: Final = 0.5
"""Seconds between two measurements of memory. Each takes CPU time itself, which the build needs."""
_FIRST_SAMPLE_S: Final = 0.1
"""Seconds until the first measurement, because a build that has nothing to do ends early."""
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
_FLAGS: Final = ("--no-sandbox", "--disable-gpu")
_SLOW: Final = 4
"""The factor by which the slow browser is slower than this machine."""

_ARRIVAL_MS: Final = 300
"""Milliseconds from the pointer's first movement to the first click, on a CPU that is not slowed down."""

_QUIET_MS: Final = 2_000
"""Milliseconds without a long task after which a page counts as interactive since the end of the last one."""


@dataclass(frozen=True, slots=True)
class BuildCost:
    """The cost of one build: wall-clock and CPU seconds, and the largest sum of the memory of all processes.

    Pages of memory that processes share count once. `load` is the load average of the last minute at the end.
    """

    submissions: int
    step: str
    seconds: float
    cpu_seconds: float
    peak_mb: int
    load: float


@dataclass(frozen=True, slots=True)
class SiteSize:
    """The bytes of a built site by kind, and its largest page when compressed with gzip."""

    submissions: int
    files: int
    mb: float
    kinds_mb: dict[str, float]
    largest_page: str
    largest_page_kb: float


@dataclass(frozen=True, slots=True)
class PageSpeed:
    """How soon a browser can use a page, in milliseconds, and the cumulative layout shift.

    `interactive` is the end of the last task of more than 50 ms. `sort_paint` and `filter_paint` are the times from the
    reader's first and second action to the frame with the new rows, and None if the page has no such control.
    """

    submissions: int
    page: str
    slowdown: int
    interactive_ms: float
    filter_paint_ms: float | None
    sort_paint_ms: float | None
    layout_shift: float


def bench_site(
    progress: Progress, *, sizes: Sequence[int], tasks: int, candidates: int, browser: bool
) -> dict[str, list[dict[str, Any]]]:
    """Build sites with these numbers of submissions, and return the rows of three tables: builds, sizes, pages.

    Each project is built from nothing, built again, and built with one more submission. With `browser`, the pages are
    opened in Chromium. Raises MissingError if there is no Chromium, and InfraError if a build fails.
    """
    program = _find_browser() if browser else None
    builds, found, pages = list[BuildCost](), list[SiteSize](), list[PageSpeed]()
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="bashboard-bench-") as scratch:
            root = Path(scratch, "project")
            write_project(root, progress, submissions=size + 1, tasks=tasks, candidates=candidates)
            last = max((root / "submissions").iterdir())
            last.rename(root / last.name)
            commit_submissions(root)
            steps = {"clean": ["--clean"], "nothing changed": [], "one more submission": []}
            for step, options in steps.items():
                if step == "one more submission":
                    (root / last.name).rename(last)
                    commit_submissions(root)
                progress.say(f"{size} submissions, {step}")
                builds.append(_build(root, size, step, options))
            found.append(_size(root / "build" / "site", size))
            if program is not None:
                progress.say(f"{size} submissions in a browser")
                pages += _speeds(root / "build" / "site", size, program)
    return {
        "builds": [asdict(row) for row in builds],
        "sizes": [asdict(row) for row in found],
        "pages": [asdict(row) for row in pages],
    }


def _build(root: Path, size: int, step: str, options: Sequence[str]) -> BuildCost:
    command = [sys.executable, "-m", "evaluator.cli", "build", "--published", *options]
    environ = {**os.environ, "PYTHONPATH": str(_PACKAGE)}
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=root, env=environ, stdout=output, stderr=subprocess.STDOUT)
        with _peak_of(process.pid) as peak:
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        if process.returncode:
            output.seek(0)
            raise InfraError(f"the site was not built:\n{output.read().decode(errors='replace')[-2000:]}")
    _check_pages(root)
    cpu = usage.ru_utime + usage.ru_stime
    return BuildCost(size, step, round(seconds, 2), round(cpu, 2), round(peak[0] / 2**20), round(os.getloadavg()[0], 1))


def _check_pages(root: Path) -> None:
    """Raise InfraError if a submission has no page, because the times of a smaller site would mean nothing."""
    lacking = [
        folder.name
        for folder in sorted((root / "submissions").iterdir())
        if not (root / "build" / "site" / "board" / SUITE.name / "submissions" / folder.name / "index.html").is_file()
    ]
    if lacking:
        raise InfraError(
            f"the site lacks {pluralize(len(lacking), 'page')} of submissions, such as that of {lacking[0]}"
        )


@contextmanager
def _peak_of(process: int) -> Iterator[list[int]]:
    """Measure the memory of a process and its children during the `with` block. Yield a list with the peak in bytes."""
    peak, ended = [0], threading.Event()

    def sample() -> None:
        pause_s = _FIRST_SAMPLE_S
        while not ended.wait(pause_s):
            pause_s = min(2 * pause_s, _SAMPLE_S)
            peak[0] = max(peak[0], sum(map(_memory_of, _tree_of(process))))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def _tree_of(process: int) -> Iterator[int]:
    """Yield a process and all its descendants."""
    yield process
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = thread.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _tree_of(int(child))


def _memory_of(process: int) -> int:
    """Return the proportional set size of a process in bytes, or 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _size(site: Path, submissions: int) -> SiteSize:
    kinds: dict[str, int] = {}
    largest, name = 0, ""
    files = [path for path in site.rglob("*") if path.is_file()]
    for path in files:
        relative = path.relative_to(site).as_posix()
        kind = _kind(relative)
        kinds[kind] = kinds.get(kind, 0) + path.stat().st_size
        if path.suffix == ".html":
            size = len(gzip.compress(path.read_bytes(), 6))
            largest, name = max((largest, name), (size, relative))
    shares = {kind: round(size / 1e6, 1) for kind, size in sorted(kinds.items(), key=lambda item: -item[1])}
    total = round(sum(kinds.values()) / 1e6, 1)
    return SiteSize(submissions, len(files), total, shares, name, round(largest / 1e3, 1))


def _kind(path: str) -> str:
    for folder in ("submissions", "tasks"):
        if f"/{folder}/" in path:
            return f"pages of {folder}" if path.endswith(".html") else f"files of {folder}"
    return "other pages" if path.endswith(".html") else "other files"


def _find_browser() -> str:
    program = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        raise MissingError("no Chromium is installed; type: make browser")
    return program


_OBSERVE: Final = """
window.measured = {last: 0, shift: 0};
new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
  measured.last = Math.max(measured.last, entry.startTime + entry.duration);
})).observe({type: "longtask", buffered: true});
new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
  if (!entry.hadRecentInput) measured.shift += entry.value;
})).observe({type: "layout-shift", buffered: true});
"""
_IDLE: Final = """async (quiet) => {
  const painted = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0;
  while (performance.now() - Math.max(measured.last, painted()) < quiet) await new Promise((r) => setTimeout(r, 100));
  return {interactive: Math.max(measured.last, painted()), shift: measured.shift};
}"""
_ACT: Final = """async ([selector, text]) => {
  const target = document.querySelector(selector);
  if (!target) return null;
  const drawn = new Promise((resolve) => new MutationObserver((changes, observer) => {
    if (!changes.some((change) => ["TBODY", "OUTPUT", "TH"].includes(change.target.tagName))) return;
    observer.disconnect();
    resolve();
  }).observe(document.body, {childList: true, subtree: true, attributeFilter: ["aria-sort"]}));
  const start = performance.now();
  if (text) {
    target.value = text;
    target.dispatchEvent(new Event("input", {bubbles: true}));
  } else target.click();
  await drawn; // a table may fetch its rows first
  await new Promise((r) => requestAnimationFrame(() => setTimeout(r, 0)));
  return performance.now() - start;
}"""


def _speeds(site: Path, submissions: int, program: str) -> Iterator[PageSpeed]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise MissingError("the package playwright is not installed; type: make test") from error
    folder = next(path for path in sorted((site / "board").iterdir()) if (path / "submissions").is_dir())
    paths = {"home": "", "tasks": "tasks/", "compare": f"board/{folder.name}/compare/"}
    for kind in ("submissions", "tasks"):
        first = min(path.name for path in (folder / kind).iterdir() if path.is_dir())
        paths[f"one of {kind}"] = f"board/{folder.name}/{kind}/{first}/"
    with site_server(site) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(_FLAGS))
        for slowdown in (1, _SLOW):
            for name, path in paths.items():
                context = browser.new_context(viewport={"width": 1280, "height": 900})
                page = context.new_page()
                page.add_init_script(_OBSERVE)
                context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
                page.goto(address + path)
                idle = page.evaluate(_IDLE, _QUIET_MS)
                page.mouse.move(640, 450)  # a reader's pointer arrives some time before the first click
                page.wait_for_timeout(_ARRIVAL_MS * slowdown)
                sort = page.evaluate(_ACT, [".board-table thead button", ""])
                filtered = page.evaluate(_ACT, [".board-filter input[type=search]", "er"])
                interactive, shift = round(idle["interactive"]), round(idle["shift"], 3)
                yield PageSpeed(submissions, name, slowdown, interactive, _rounded(filtered), _rounded(sort), shift)
                context.close()
        browser.close()


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)
