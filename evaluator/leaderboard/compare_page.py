"""Two systems task by task. Who they are is chosen in the browser, which fetches what each of them was found to do;
without scripts every system stands beside the best of its tie group."""

from __future__ import annotations

import json
from collections.abc import Mapping

from evaluator.leaderboard.board import Gathered, SuiteBoard
from evaluator.leaderboard.escaping import inline, plain_text
from evaluator.leaderboard.leaderboard_page import p_words
from evaluator.leaderboard.markup import Column, cell, head_cell, link, number_cell, row, table
from evaluator.records import Standing

_LEAD = (
    '<p class="lead">Which of two systems is the better one is told by the tasks that one of them passes and the other '
    "does not. McNemar's exact test asks whether chance could have shared these out so.</p>\n"
)
_COLUMNS = (
    Column("system", "System"),
    Column("other", "Compared with"),
    Column("group", "Tie group", "number"),
    Column("both", "Both", "number", "pass"),
    Column("only-this", "Only it", "number", "passes"),
    Column("only-other", "Only the other", "number", "passes"),
    Column("neither", "Neither", "number", "passes"),
    Column("p", "p", "number", "of this pair"),
    Column("p-adjusted", "p", "number", "for all pairs"),
)


def compare_part(gathered: Gathered, script: str) -> str:
    """The HTML of a board's page that compares two systems; `script` leads from it to the program that does."""
    listed = [*gathered.ranked, *gathered.unranked]
    options = "".join(
        f'<option value="{row.submission}">{inline(plain_text(row.system), 120)} ({row.submission})</option>'
        for row in listed
    )
    return (
        f'<p class="crumbs">{link("../", "Leaderboard")}</p>\n<h1>Two systems, task by task</h1>\n{_LEAD}'
        f'<form class="board-filter compare" data-compare hidden aria-label="Systems to compare">'
        f'<label>A<select name="a">{options}</select></label>'
        '<label>B<select name="b"></select></label>'
        '<output class="count" role="status"></output></form>\n<div class="compared"></div>\n'
        f"{_pairs(gathered)}"
        f'<script type="module" src="{script}"></script>\n'
    )


def _pairs(gathered: Gathered) -> str:
    names = {row.submission: row.system for row in gathered.ranked}
    rows = [_row(standing, standing.compared_with, names) for standing in gathered.ranked if standing.compared_with]
    if not rows:
        return "<p>There are no two ranked systems to compare yet.</p>\n"
    caption = (
        "<b>Every system beside the best of its tie group</b>, or where it begins a group beside the best of the "
        "group above, from which it is told apart."
    )
    return f'<h2 id="all">The pairs that make the tie groups</h2>\n{table("pairs", caption, _COLUMNS, rows)}'


def _row(standing: Standing, other: str, names: Mapping[str, str]) -> str:
    only_this, only_other = standing.only_this or 0, standing.only_other or 0
    both = standing.passed - only_this
    neither = standing.asked - both - only_this - only_other
    own = link(f"../submissions/{standing.submission}/", f"<bdi>{inline(standing.system, 200)}</bdi>")
    return row(
        head_cell(f'{own} <small class="slug">{standing.submission}</small>', standing.submission),
        cell(f'<bdi>{inline(names.get(other, other), 200)}</bdi> <small class="slug">{other}</small>', other),
        number_cell(str(standing.tie_group), standing.tie_group),
        *(number_cell(str(count)) for count in (both, only_this, only_other, neither)),
        number_cell(p_words(standing.p_value).removeprefix("p = "), standing.p_value),
        number_cell(p_words(standing.p_adjusted).removeprefix("p = "), standing.p_adjusted),
    )


def tasks_json(board: SuiteBoard) -> str:
    """What the comparison needs to know of tasks: id, topic and the utilities that the references call."""
    rows = [
        {"id": task.id, "topic": task.topic.value, "utilities": board.utilities.get(task.id, ())}
        for task in board.tasks
    ]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")) + "\n"
