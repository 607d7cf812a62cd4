"""The input of the site: one suite's records, and the look-up tables of its pages.

The pipeline hands over a `SuiteBoard` for each suite. `index_board` reads it once, so that the cost of a page does not
depend on the size of the board. It also refuses records that do not belong together before any file is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from evaluator.leaderboard.columns import TerminalCell, terminal_columns
from evaluator.records import (
    DetectableDifference,
    Result,
    Standing,
    SubmissionManifest,
    SuiteManifest,
    Task,
    Timing,
    WorldManifest,
)

Appeal = Callable[[str, str | None, int | None], str]
"""Returns the address of the appeal form for a submission and, if given, a task and a rank."""


@dataclass(frozen=True, slots=True)
class SuiteBoard:
    """One suite's board.

    `worlds` are keyed by the name that tasks refer to, `submissions` by slug. `standings` are in board order. `results`
    hold every candidate of every submission. `environment` is the execution environment (base, judge, clock) for the
    method page. `resolution` is the smallest difference that the board can detect. `utilities` and `times` are keyed
    by task id. They hold the utilities that the task's references call, and people's times.

    If `published` is true, all verdicts are published ones, which hold no times. `awaiting` are the submissions to the
    suite without a verdict. `appeal` is None if the address of the repository is not known.
    """

    manifest: SuiteManifest
    worlds: Mapping[str, WorldManifest]
    tasks: tuple[Task, ...]
    standings: tuple[Standing, ...]
    results: tuple[Result, ...]
    submissions: Mapping[str, SubmissionManifest]
    environment: Mapping[str, str]
    resolution: DetectableDifference | None = None
    utilities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    times: Mapping[str, Timing] = field(default_factory=dict)
    published: bool = False
    awaiting: tuple[str, ...] = ()
    appeal: Appeal | None = None

    @property
    def name(self) -> str:
        """The suite's slug. Every address below `board/` begins with it."""
        return self.manifest.name

    def terminal_columns(self, width: int) -> Iterator[tuple[TerminalCell, list[str]]]:
        """Return the columns of the standings that fit a terminal's width, each with its texts in board order."""
        return terminal_columns(self.standings, width)


@dataclass(frozen=True, slots=True)
class BoardIndex:
    """A board with its results by submission and by task.

    `answers[slug][task]` are one submission's results on a task, best rank first, tasks in the suite's order.
    `attempts[task]` are the first candidates of every submission, in board order.
    """

    board: SuiteBoard
    ranked: tuple[Standing, ...]
    unranked: tuple[Standing, ...]
    answers: Mapping[str, Mapping[str, tuple[Result, ...]]]
    attempts: Mapping[str, tuple[Result, ...]]


def index_board(board: SuiteBoard) -> BoardIndex:
    """Sort a board's results by submission and by task.

    Raise ValueError if a standing, result or task names something that is not on the board, with all such names.
    """
    unknown = sorted(_unknown_names(board))
    if unknown:
        raise ValueError(f"the board of {board.name!r} is inconsistent: {'; '.join(unknown)}")
    results: dict[str, dict[str, list[Result]]] = {row.submission: {} for row in board.standings}
    for result in sorted(board.results, key=attrgetter("rank")):
        results[result.submission].setdefault(result.task, []).append(result)
    answers = {
        slug: {task.id: tuple(by_task[task.id]) for task in board.tasks if task.id in by_task}
        for slug, by_task in results.items()
    }
    attempts = {
        task.id: tuple(by_task[task.id][0] for by_task in answers.values() if task.id in by_task)
        for task in board.tasks
    }
    return BoardIndex(
        board=board,
        ranked=tuple(row for row in board.standings if row.ranked),
        unranked=tuple(row for row in board.standings if not row.ranked),
        answers=answers,
        attempts=attempts,
    )


def _unknown_names(board: SuiteBoard) -> set[str]:
    slugs = {row.submission for row in board.standings}
    tasks = {task.id for task in board.tasks}
    unknown = {f"no submission.toml for {slug!r}" for slug in slugs - set(board.submissions)}
    unknown |= {f"no standing for {slug!r}" for slug in {row.submission for row in board.results} - slugs}
    unknown |= {f"no task {name!r}" for name in {row.task for row in board.results} - tasks}
    unknown |= {f"no world {name!r}" for name in {task.world for task in board.tasks} - set(board.worlds)}
    return unknown
