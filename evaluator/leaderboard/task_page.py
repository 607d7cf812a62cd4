"""The page of a task (instruction, right and wrong commands, systems that solve it), and the index of tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from markupsafe import Markup

from evaluator.leaderboard.answer_groups import AnswerGroup, answer_groups, split_controls
from evaluator.leaderboard.board import Appeal, BoardIndex, SuiteBoard
from evaluator.leaderboard.environment import macro, render
from evaluator.leaderboard.result_text import ResultText
from evaluator.leaderboard.verdict_parts import render_verdict
from evaluator.records import (
    Method,
    Observation,
    OutputMode,
    ReferenceDoubt,
    Standing,
    Task,
    command_digest,
)

MAX_GROUPS: Final = 100
"""Number of different answers that a task's page lists. The page's JSON lines have all."""

MAX_NAMES: Final = 300
"""Number of systems that a task's page names, divided among the answers. Each answer names at least three."""

SCRIPT_LENGTH: Final = 8_000
"""Escaped characters of one of the task's own commands."""

OUTPUT: Final[Mapping[OutputMode, str]] = {
    OutputMode.EXACT: "Exact: standard output must be the same bytes, a final line end apart.",
    OutputMode.LINES: "Lines: the same lines of standard output, in the same order.",
    OutputMode.SET: "Set: the same rows of standard output in any order; how a row is laid out may differ as far "
    "as the references differ.",
    OutputMode.NONE: "None: what is printed is not compared, only what is done.",
}
"""How standard output is compared, in a sentence."""

OBSERVED: Final[Mapping[Observation, str]] = {
    Observation.EXIT: "whether the exit status is zero",
    Observation.STDERR: "standard error",
    Observation.SHELL: "the shell's state (directory, variables, options, functions, traps)",
    Observation.PROCESSES: "the processes left running",
    Observation.MTIME: "modification times",
}
"""What a task may ask to be compared besides."""


def render_task(board: SuiteBoard, task: Task, attempts: Mapping[str, ResultText]) -> str:
    """Return the HTML of one task's page.

    `attempts` has the first candidate of every submission for this task, by slug, in the order of the standings. From
    the board, the page uses only facts of the suite and the standings, never `board.results`.
    """
    standings = {standing.submission: standing for standing in board.standings}
    systems, controls = split_controls(attempts, standings)
    groups, own = answer_groups(task, board.name, systems), answer_groups(task, board.name, controls)
    listed = groups[:MAX_GROUPS]
    limit = max(80, min(2_000, 150_000 // max(1, len(listed))))
    names = max(3, MAX_NAMES // max(1, len(listed)))
    solved = sum(len(group.submissions) for group in groups if group.passes)
    return render(
        "task.html",
        task=task,
        suite=board.manifest,
        world=board.worlds[task.world],
        output=OUTPUT[task.output],
        observed=[Markup(OBSERVED[observation]) for observation in task.observe],  # noqa: S704 - our words
        timing=board.times.get(task.id, task.timing),
        doubts=[_doubt(task, doubt) for doubt in board.doubts.get(task.id, ())],
        retired=board.retired.get(task.id, ()),
        solved=solved,
        systems=len(systems),
        answers=len(groups),
        rows=[_row(group, standings, limit, names, board.appeal) for group in listed],
        controls=[_row(group, standings, limit, names, board.appeal) for group in own],
        script=SCRIPT_LENGTH,
        declared=board.declared,
    )


def _doubt(task: Task, doubt: ReferenceDoubt) -> tuple[int, tuple[str, ...]]:
    """Return the number of a reference in doubt, and the models that disagree with the reference."""
    return list(map(command_digest, task.references)).index(doubt.command_digest) + 1, doubt.models


def _row(
    group: AnswerGroup, standings: Mapping[str, Standing], limit: int, names: int, appeal: Appeal | None
) -> dict[str, Any]:
    """Return the row of a group of equal answers: its systems, at most `names` of them by name, and the verdict."""
    rows = [standings[slug] for slug in group.submissions]
    named = [(row.submission, row.system, _mark(row)) for row in rows[:names]]
    cells = render_verdict([group.first], limit, appeal)
    return {"count": len(rows), "named": named, "reference": group.reference, "cells": cells}


def _mark(row: Standing) -> Markup | None:
    """Return the mark of a row whose verdicts are not those of today's judge, suite and environment."""
    by = row.judged_by
    return macro("judged_mark", row) if by is not None and (by.differs or by.base) else None


def render_tasks(boards: Iterable[BoardIndex]) -> str:
    """Return the HTML of the index of tasks, with a table for each suite whose texts the site may show."""
    return render(
        "tasks.html",
        boards=[(index.board, _index(index)) for index in boards if index.board.shows_texts],
    )


def _index(index: BoardIndex) -> list[tuple[Task, int, int]]:
    """Return every task of a board with two numbers: how many systems solve it, and how many were asked it.

    Controls count as no system.
    """
    controls = {row.submission for row in index.board.standings if row.method is Method.CONTROL}
    return [
        (task, len(index.solvers[task.id] - controls), len(index.asked[task.id] - controls))
        for task in index.board.tasks
    ]
