"""What a board ran on: the part of the method page that is written from the records, not by hand."""

from __future__ import annotations

from collections.abc import Iterable

from evaluator.leaderboard.board import SuiteBoard
from evaluator.leaderboard.escaping import inline
from evaluator.leaderboard.markup import Column, cell, definitions, head_cell, number_cell, row, table


def environment_part(boards: Iterable[SuiteBoard]) -> str:
    """The HTML of every suite's machine, limits and worlds."""
    return "".join(_suite(board) for board in boards) or "<p>No suite has been scored yet.</p>\n"


def _suite(board: SuiteBoard) -> str:
    manifest = board.manifest
    limits = manifest.limits
    facts = {
        "Clock": f"{manifest.clock:%Y-%m-%d %H:%M:%S} UTC, the same in every run",
        "Base": f"{manifest.base.distribution} {manifest.base.release}",
        "Packages besides": ", ".join(manifest.base.packages),
        "Shell and user": f"{manifest.shell}, {inline(manifest.user)} in {inline(manifest.cwd)}",
        "Processor": f"{limits.cpu_s:g} s of CPU time, {limits.wall_s:g} s by the wall",
        "Memory and disk": f"{limits.memory_mb:,} MB and {limits.disk_mb:,} MB in {limits.inodes:,} inodes",
        "Processes": f"{limits.processes:,}",
        "Output kept": f"{limits.output_kb:,} kB a stream, with the digest of all of it",
    }
    facts |= {inline(name): inline(value, 1000) for name, value in sorted(board.environment.items())}
    heading = f'<h3 id="suite-{board.name}">{inline(manifest.title)} {manifest.version}</h3>\n'
    return heading + definitions(facts.items()) + _worlds(board)


def _worlds(board: SuiteBoard) -> str:
    columns = (
        Column("world", "World"),
        Column("title", "What it is"),
        Column("variants", "Variants"),
        Column("tasks", "Tasks", "number"),
    )
    rows = (
        row(
            head_cell(name),
            cell(inline(world.title)),
            cell(", ".join(variant.name for variant in world.variants)),
            number_cell(str(sum(task.world == name for task in board.tasks))),
        )
        for name, world in sorted(board.worlds.items())
    )
    return table(f"worlds-{board.name}", "The worlds, and the variants each is built in.", columns, rows)
