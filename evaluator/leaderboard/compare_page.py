"""The page that compares two systems task by task.

A reader chooses the systems in the browser, and the browser fetches their results. Without scripts, the page compares
every system with the best system of its tie group, and shows the error classes of all systems.
"""

from __future__ import annotations

import json

from evaluator.leaderboard.board import BoardIndex, SuiteBoard
from evaluator.leaderboard.environment import render
from evaluator.leaderboard.error_classes_part import error_rows
from evaluator.records import ErrorClass, Standing


def render_comparison(index: BoardIndex, script: str) -> str:
    """Return the HTML of a board's page that compares two systems. `script` is the address of the page's script."""
    return render(
        "compare.html",
        listed=[*index.ranked, *index.unranked],
        pairs=[(row, row.compared_with, _counts(row)) for row in index.ranked if row.compared_with],
        errors=error_rows([*index.ranked, *index.unranked]),
        classes=[kind.value for kind in ErrorClass],
        systems={row.submission: row.system for row in index.ranked},
        script=script,
        declared=index.board.declared,
    )


def _counts(standing: Standing) -> tuple[int, int, int, int]:
    """Return how many tasks this system and the compared system pass, in four groups.

    The groups are: passed by both systems, only by this system, only by the compared system, and by neither.
    """
    only_this, only_other = standing.only_this or 0, standing.only_other or 0
    both = standing.passed - only_this
    return both, only_this, only_other, standing.asked - both - only_this - only_other


def tasks_json(board: SuiteBoard) -> str:
    """Return the task data for the comparison as JSON: id, instruction, topic, and the references' utilities."""
    rows = [
        {"id": task.id, "nl": task.nl, "topic": task.topic.value, "utilities": board.utilities.get(task.id, ())}
        for task in board.tasks
    ]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")) + "\n"
