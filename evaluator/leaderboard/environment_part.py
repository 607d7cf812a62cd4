"""The generated part of the method page: the environments in which the commands of the boards ran."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.html_text import inline


def render_environment(boards: Iterable[SuiteBoard]) -> str:
    """Return the HTML that describes, for every board, the machine, its limits and the files that tasks start with."""
    return render("environment.html", boards=[(board, _facts(board)) for board in boards])


def _facts(board: SuiteBoard) -> dict[str, str]:
    """Return the settings of a board's execution environment as a mapping from label to value.

    A setting of the board replaces the suite's setting with the same label.
    """
    manifest, limits = board.manifest, board.manifest.limits
    return {
        "Clock": f"{manifest.clock:%Y-%m-%d %H:%M:%S} UTC, the same in every run",
        "Base": str(manifest.base),
        "Packages besides": ", ".join(manifest.base.packages),
        "Shell and user": Markup("{}, {} in {}").format(manifest.shell, inline(manifest.user), inline(manifest.cwd)),
        "Processor": f"{limits.cpu_s:g} s of CPU time, {limits.wall_s:g} s by the wall",
        "Memory and disk": f"{limits.memory_mb:,} MB and {limits.disk_mb:,} MB in {limits.inodes:,} inodes",
        "Processes": f"{limits.processes:,}",
        "Output kept": f"{limits.output_kb:,} kB a stream, with the digest of all of it",
    } | {inline(name): inline(value, 1000) for name, value in sorted(board.environment.items())}
