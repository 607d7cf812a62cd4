"""This module defines the input of the site: the records of one suite, and indexes for the pages of this suite.

The pipeline builds a `SuiteBoard` for each suite. `index_board` reads each board once, so the cost of a page does not
depend on the size of the board. `index_board` also rejects inconsistent records before any file is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from evaluator.leaderboard.columns import TerminalCell, terminal_columns
from evaluator.records import (
    DetectableDifference,
    EditionDifference,
    ExternalSuite,
    MethodRuns,
    NearReport,
    ReferenceDoubt,
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
    """The records of one suite for the site.

    `worlds` maps names to descriptions of the files with which tasks start. `submissions` maps slugs to manifests.
    `standings` has the ranked submissions first, best first. `results` holds every candidate of every submission.
    `environment` describes the execution environment (such as the judge and the clock) on the method page. `resolution`
    is the smallest difference that the board can detect. `utilities` maps task ids to the utilities in the references,
    and `times` maps task ids to the time that a person needs.

    `doubts` maps task ids to references in doubt. `retired` maps task ids to retired references, each with its reason.

    If `published` is true, all verdicts come from published files, which contain no times. `awaiting` lists the suite's
    submissions without a verdict. `appeal` makes links to the appeal form, and is None if the repository is
    unknown. `declared` is the declaration of an external suite, with the licence and the authors of the suite's texts.
    `editions` has the differences between the accuracy on the suite and on its sealed editions. `method_runs` has the
    runs of each declared model and method, and `near_reports` the tasks near to declared training data, by slug.

    If `standings` has only some rows of a board, `whole` is the number of all its submissions, and `unknown` the number
    of those that lack verdicts. If there are any, the rows have no ranks.
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
    doubts: Mapping[str, tuple[ReferenceDoubt, ...]] = field(default_factory=dict)
    retired: Mapping[str, tuple[tuple[bytes, str], ...]] = field(default_factory=dict)
    published: bool = False
    awaiting: tuple[str, ...] = ()
    appeal: Appeal | None = None
    declared: ExternalSuite | None = None
    editions: tuple[EditionDifference, ...] = ()
    method_runs: tuple[MethodRuns, ...] = ()
    near_reports: Mapping[str, NearReport] = field(default_factory=dict)
    whole: int = 0
    unknown: int = 0

    @property
    def shows_texts(self) -> bool:
        """Return whether the site may show the suite's instructions and references, and the answers to them."""
        return not self.manifest.foreign or (self.declared is not None and self.declared.texts)

    @property
    def name(self) -> str:
        """Return the suite's slug. Every address below `board/` begins with it."""
        return self.manifest.name

    def terminal_columns(self, width: int) -> list[tuple[TerminalCell, list[str]]]:
        """Return the columns of the standings that a terminal of this width shows, each with the texts of its cells."""
        return terminal_columns(self.standings, width)


@dataclass(frozen=True, slots=True)
class BoardIndex:
    """A board with its results, grouped for the pages.

    `answers[slug][task]` lists the results of a submission's candidates for a task, in the submission's order.
    `attempts[task]` lists the result of every submission's first candidate, in the order of the standings.
    """

    board: SuiteBoard
    ranked: tuple[Standing, ...]
    unranked: tuple[Standing, ...]
    answers: Mapping[str, Mapping[str, tuple[Result, ...]]]
    attempts: Mapping[str, tuple[Result, ...]]


def index_board(board: SuiteBoard) -> BoardIndex:
    """Group a board's results by submission and by task.

    Raise ValueError if a standing, a result or a task uses an unknown name. The message lists all such names.
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
