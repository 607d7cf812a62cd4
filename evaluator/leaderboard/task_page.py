"""The page of a task (instruction, right and wrong commands, systems that solve it), and the index of tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from markupsafe import Markup

from evaluator.leaderboard.board import Appeal, BoardIndex
from evaluator.leaderboard.environment import macro, render
from evaluator.leaderboard.submission_page import render_verdict
from evaluator.records import Observation, Outcome, OutputMode, ReferenceDoubt, Result, Standing, Task, command_digest

MAX_ATTEMPTS: Final = 100
"""Number of systems that a task's page lists. The page's JSON lines have all."""

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


def render_task(index: BoardIndex, task: Task) -> str:
    """Return the HTML of one task's page."""
    board, attempts = index.board, index.attempts[task.id]
    passed = [result for result in attempts if result.finding.outcome is Outcome.PASS]
    rest = [result for result in attempts if result.finding.outcome is not Outcome.PASS]
    listed = (passed + rest)[:MAX_ATTEMPTS]
    limit = min(400, 200_000 // (2 * max(1, len(listed))))
    standings = {standing.submission: standing for standing in board.standings}
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
        solved=len(passed),
        attempts=len(attempts),
        rows=[_attempt(result, standings[result.submission], limit, board.appeal) for result in listed],
        limit=limit,
        script=SCRIPT_LENGTH,
        declared=board.declared,
    )


def _doubt(task: Task, doubt: ReferenceDoubt) -> tuple[int, tuple[str, ...]]:
    """Return the number of a reference in doubt, and the models that disagree with the reference."""
    return list(map(command_digest, task.references)).index(doubt.command_digest) + 1, doubt.models


def _attempt(result: Result, standing: Standing, limit: int, appeal: Appeal | None) -> tuple[object, ...]:
    """Return a system's row on a task's page: the slug, the name, a mark or None, and the verdict cells.

    The row has the mark only if the system's verdicts come from a published file.
    """
    mark = macro("judged_mark", standing) if standing.judged_by else None
    return standing.submission, standing.system, mark, render_verdict([result], limit, appeal)


def render_tasks(boards: Iterable[BoardIndex]) -> str:
    """Return the HTML of the index of tasks, with a table for each suite whose texts the site may show."""
    return render(
        "tasks.html",
        boards=[(index.board, _index(index)) for index in boards if index.board.shows_texts],
    )


def _index(index: BoardIndex) -> list[tuple[Task, int, int]]:
    """Return every task of a board with two numbers: how many systems solve it, and how many were asked it."""
    return [(task, len(index.solvers[task.id]), len(index.asked[task.id])) for task in index.board.tasks]
