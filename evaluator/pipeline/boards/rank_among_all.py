"""Rank the submissions that `bashboard score SLUG` scored among all of the board, from existing verdicts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.assembly import board_of_results, task_facts
from evaluator.pipeline.boards.board_set import BoardSet
from evaluator.pipeline.boards.gather import gather_boards
from evaluator.pipeline.boards.scored_boards import judge_error
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_sound, report_left_out
from evaluator.progress import NullProgress
from evaluator.records import Standing
from evaluator.store import Store
from evaluator.submissions.validate import Submission

_NO_RANK: Final = {
    **dict.fromkeys(("rank_low", "rank_high", "tie_group", "compared_with")),
    **dict.fromkeys(("only_this", "only_other", "p_value", "p_adjusted")),
}


def rank_among_all(
    project: Project, found: BoardSet, judge: str | None, say: Callable[[str], None] = lambda line: None
) -> BoardSet:
    """Return boards of some submissions with the ranks that these have among all. Nothing is executed or asked.

    A row has no rank if another submission lacks a verdict on this machine. Submissions that cannot be scored are
    reported to `say` and do not count.
    """
    sound = load_sound(project)
    if not any(_lacks(board, submission) for board in found.boards for submission in sound.submissions):
        report_left_out(sound, say)
        return found
    names = [board.name for board in found.boards]
    whole = gather_boards(project, NullProgress(), suites=names, judge=judge, execute=False, say=say)
    all_rows = {board.name: board for board in whole.boards}
    boards = [
        _ranked(project, board, all_rows[board.name], judge) if board.name in all_rows else board
        for board in found.boards
    ]
    return replace(found, boards=boards)


def _lacks(board: SuiteBoard, submission: Submission) -> bool:
    slug = submission.slug
    return board.name in submission.manifest.suites and slug not in board.submissions and slug not in board.awaiting


def _ranked(project: Project, board: SuiteBoard, whole: SuiteBoard, judge: str | None) -> SuiteBoard:
    """Return a board whose rows have the ranks among the rows of `whole` too."""
    own = board.submissions.keys() | set(board.awaiting)
    others = [result for result in whole.results if result.submission not in own]
    awaiting = {slug for slug in whole.awaiting if slug not in own}
    if not others and not awaiting:
        return board
    with contextlib.closing(Store(project.store_path)) as store:
        suite = project.suite(board.name)
        facts = task_facts(suite, store)
    manifests = {**whole.submissions, **board.submissions}
    results = [*board.results, *others]
    merged = board_of_results(suite, manifests, results, facts, board.environment, judge_error(project, judge))
    awaiting |= {row.submission for row in merged.standings if row.submission not in own and row.infra_errors}
    rows = (row for row in merged.standings if row.submission in own)
    return replace(
        board,
        standings=tuple(_without_rank(row) if awaiting else row for row in rows),
        resolution=merged.resolution,
        whole=len(own) + len({result.submission for result in others} | awaiting),
        unknown=len(awaiting),
    )


def _without_rank(row: Standing) -> Standing:
    return row.model_copy(update=_NO_RANK)
