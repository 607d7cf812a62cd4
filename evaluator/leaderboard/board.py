"""This module defines the input of the site: the records of one suite, and indexes for the pages of this suite.

The pipeline builds a `SuiteBoard` for each suite. `index_board` reads each board once, so the cost of a page does not
depend on the size of the board. `index_board` also rejects inconsistent records before any file is written.

The results of a large board are not in memory (see `board_answers`). So a page asks its index for the results of one
submission or of one task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from evaluator.leaderboard.board_answers import BoardAnswers, MemoryAnswers, TaskResults
from evaluator.leaderboard.columns import TerminalCell, terminal_columns
from evaluator.leaderboard.result_text import ResultText
from evaluator.records import (
    DetectableDifference,
    EditionDifference,
    ExternalSuite,
    MethodRuns,
    NearReport,
    RankDay,
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
    `standings` has the ranked submissions first, best first. `results` holds every candidate of every submission. It is
    empty if the results are in `stored`, where they are read when needed.

    `environment` describes the execution environment (such as the judge and the clock) on the method page. `resolution`
    is the smallest difference that the board can detect. `utilities` maps task ids to the utilities in the references,
    and `times` maps task ids to the time that a person needs.

    `doubts` maps task ids to references in doubt. `retired` maps task ids to retired references, each with its reason.

    If `published` is true, all verdicts come from published files, which contain no times. `awaiting` lists the suite's
    submissions without a verdict. `appeal` makes links to the appeal form, and is None if the repository is
    unknown. `declared` is the declaration of an external suite, with the licence and the authors of the suite's texts.
    `editions` has the differences between the accuracy on the suite and on its sealed editions. `method_runs` has the
    runs of each declared model and method, and `near_reports` the tasks near to declared training data, by slug.
    `rank_history` has the ranks of each ranked submission on earlier days, by slug.

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
    rank_history: Mapping[str, tuple[RankDay, ...]] = field(default_factory=dict)
    whole: int = 0
    unknown: int = 0
    stored: BoardAnswers | None = None

    @property
    def answers(self) -> BoardAnswers:
        """Return the answers of all submissions with their verdicts."""
        if self.stored is not None:
            return self.stored
        slugs = (row.submission for row in self.standings)
        return MemoryAnswers(self.results, slugs, (task.id for task in self.tasks))

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
class _BySubmission(Mapping[str, TaskResults]):
    """The results of each submission in a standing, read when they are needed."""

    standings: tuple[Standing, ...]
    read: Callable[[str], TaskResults]

    def __getitem__(self, slug: str) -> TaskResults:
        return self.read(slug)

    def __iter__(self) -> Iterator[str]:
        return (row.submission for row in self.standings)

    def __len__(self) -> int:
        return len(self.standings)


@dataclass(frozen=True)
class BoardIndex:
    """A board with its results, grouped for the pages.

    `answers[slug][task]` lists the results of a submission's candidates for a task, in the submission's order. It reads
    the results of one submission at a time.
    """

    board: SuiteBoard
    ranked: tuple[Standing, ...]
    unranked: tuple[Standing, ...]
    source: BoardAnswers

    @property
    def answers(self) -> Mapping[str, TaskResults]:
        """Return the results of all candidates of each submission."""
        return _BySubmission(self.board.standings, self.source.candidates)

    @cached_property
    def best_by_topic(self) -> Mapping[str, float]:
        """Return the best share of each topic among the systems that are tied with the leader."""
        best: dict[str, float] = {}
        for row in self.ranked:
            for topic, tally in row.topics.items() if row.tie_group == 1 else ():
                if tally.asked:
                    best[topic] = max(best.get(topic, 0.0), tally.passed / tally.asked)
        return best

    def attempts(self, tasks: Sequence[str]) -> dict[str, dict[str, ResultText]]:
        """Return the first candidates for these tasks by task and submission, in the order of the standings."""
        found: dict[str, dict[str, ResultText]] = {task: {} for task in tasks}
        for row in self.board.standings if tasks else ():
            for task, text in self.source.first_texts(row.submission, found.keys()).items():
                found[task][row.submission] = text
        return found

    @cached_property
    def solvers(self) -> Mapping[str, frozenset[str]]:
        """Return for each task the submissions that pass it with their first candidates."""
        return self._by_task(self.source.passed)

    @cached_property
    def asked(self) -> Mapping[str, frozenset[str]]:
        """Return for each task the submissions that were asked it."""
        return self._by_task(self.source.asked)

    def _by_task(self, tasks_of: Callable[[str], frozenset[str]]) -> Mapping[str, frozenset[str]]:
        found: dict[str, set[str]] = {task.id: set() for task in self.board.tasks}
        for row in self.board.standings:
            for task in tasks_of(row.submission):
                found[task].add(row.submission)
        return {task: frozenset(slugs) for task, slugs in found.items()}


def index_board(board: SuiteBoard) -> BoardIndex:
    """Group a board's results by submission and by task.

    Raise ValueError if a standing, a result or a task uses an unknown name. The message lists all such names.
    """
    unknown = sorted(_unknown_names(board))
    if unknown:
        raise ValueError(f"the board of {board.name!r} is inconsistent: {'; '.join(unknown)}")
    return BoardIndex(
        board=board,
        ranked=tuple(row for row in board.standings if row.ranked),
        unranked=tuple(row for row in board.standings if not row.ranked),
        source=board.answers,
    )


def _unknown_names(board: SuiteBoard) -> set[str]:
    slugs = {row.submission for row in board.standings}
    tasks = {task.id for task in board.tasks}
    unknown = {f"no submission.toml for {slug!r}" for slug in slugs - set(board.submissions)}
    unknown |= {f"no standing for {slug!r}" for slug in {row.submission for row in board.results} - slugs}
    unknown |= {f"no task {name!r}" for name in {row.task for row in board.results} - tasks}
    unknown |= {f"no world {name!r}" for name in {task.world for task in board.tasks} - set(board.worlds)}
    return unknown
