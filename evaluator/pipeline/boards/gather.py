"""Make the boards of several suites, so that the trouble of one suite, task or submission is its own.

A suite in trouble never stops the others. A suite that cannot be loaded has no board. A suite whose commands cannot be
executed has a board of the existing evidence. On this board, each answer without evidence is an infra-error with the
reason. A submission without any evidence is listed as awaiting its verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from evaluator.errors import BashboardError, FormatError, InfraError, MissingError
from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.judge_error import JudgeError
from evaluator.pipeline.boards.board_set import BoardSet
from evaluator.pipeline.boards.scored_boards import graded_board, judge_error, plan_rescore
from evaluator.pipeline.grading.cache_keys import is_executable
from evaluator.pipeline.grading.executor import missing_evidence, open_grader
from evaluator.pipeline.grading.grader import Plan
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.board_suites import asked_suites, choose_suites, one_line
from evaluator.pipeline.submissions.repository import Loaded, load_sound, report_left_out
from evaluator.progress import NullProgress, Progress
from evaluator.records import Outcome, Result
from evaluator.store import store_in_use
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite

if TYPE_CHECKING:
    from evaluator.judges.panel.panel import Panel

NO_EVIDENCE: Final = "not executed on this machine"
"""The reason of the infra-error on an answer that was not executed here."""


def gather_boards(
    project: Project,
    progress: Progress,
    *,
    suites: Sequence[str] = (),
    submissions: Sequence[str] = (),
    judge: str | None = None,
    workers: int | None = None,
    execute: bool = True,
    panel: Panel | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> BoardSet:
    """Score submissions on suites, and return the boards. By default, use all suites and submissions.

    A submission that cannot be scored is left out and reported to `say`. If `execute` is false, no command is executed.
    Raises the first error if no board shows anything because of it.
    """
    with store_in_use(project.store_path):
        loaded = _load(project, submissions, say)
        chosen = choose_suites(project, suites, loaded.submissions)
        asked = asked_suites(suites, submissions, loaded.submissions)
        error = judge_error(project, judge)
        gathering = _Gathering(project, progress, loaded.submissions, judge, workers, panel, error)
        gathering.found = BoardSet([], dict(chosen.unavailable), {}, asked, tuple(loaded.broken))
        for suite in chosen.suites:
            gathering.add(suite, execute=execute)
    gathering.raise_if_empty()
    return gathering.found


def plan_boards(
    project: Project,
    progress: Progress,
    suites: Sequence[str],
    submissions: Sequence[str],
    judge: str | None,
    panel: Panel | None,
    say: Callable[[str], None],
) -> dict[str, Plan]:
    """Return the plan of grading each suite, by the suite's name. A suite in trouble is left out and reported to `say`.

    Raises the suite's error if no suite can be planned.
    """
    loaded = _load(project, submissions, say).submissions
    chosen = choose_suites(project, suites, loaded)
    plans: dict[str, Plan] = {}
    errors: dict[str, BashboardError] = {}
    for suite in chosen.suites:
        try:
            plans[suite.manifest.name] = plan_rescore(project, suite, progress, loaded, judge, panel)
        except (InfraError, MissingError, FormatError) as error:
            errors[suite.manifest.name] = error
    if errors and not plans:
        raise next(iter(errors.values()))
    for name, reason in {**errors, **chosen.errors}.items():
        say(f"suite {name} is left out: {one_line(reason)}")
    return plans


def _load(project: Project, slugs: Sequence[str], say: Callable[[str], None]) -> Loaded:
    """Load the submissions. Raises FormatError for a named submission that breaks its format."""
    loaded = load_sound(project, slugs)
    if slugs and loaded.broken:
        raise FormatError([problem for problems in loaded.broken.values() for problem in problems])
    report_left_out(loaded, say)
    return loaded


@dataclass(slots=True)
class _Gathering:
    """The boards that were made so far, and the parameters that all of them share."""

    project: Project
    progress: Progress
    submissions: Sequence[Submission]
    judge: str | None
    workers: int | None
    panel: Panel | None
    error: JudgeError | None
    found: BoardSet = field(default_factory=BoardSet)
    first: BashboardError | None = None

    def add(self, suite: Suite, *, execute: bool) -> None:
        """Add the board of a suite, or the reason why it has none."""
        name = suite.manifest.name
        try:
            board = self._executed(suite) if execute else self._existing(suite)
        except FormatError as error:  # a file of rulings or marks breaks its format
            self.first = self.first or error
            self.found.unavailable[name] = one_line(error)
        else:
            self.found.boards.append(board)

    def _executed(self, suite: Suite) -> SuiteBoard:
        """Return a suite's board. If its commands cannot be executed, return the board of the existing evidence."""
        try:
            open_suite = partial(
                open_grader, self.project, suite, self.progress, judge=self.judge, workers=self.workers
            )
            return graded_board(open_suite, suite, self.submissions, self.panel, self.error)
        except (InfraError, MissingError) as error:
            self.first = self.first or error
            self.found.troubles[suite.manifest.name] = one_line(error)
            return self._of_evidence(suite, str(error)[:500])

    def _existing(self, suite: Suite) -> SuiteBoard:
        """Return a suite's board of the existing evidence. A submission without any is awaiting its verdicts."""
        board = self._of_evidence(suite, NO_EVIDENCE, awaiting=NO_EVIDENCE)
        if board.awaiting:
            self.first = self.first or missing_evidence(suite, self.judge)
        return board

    def _of_evidence(self, suite: Suite, reason: str, awaiting: str | None = None) -> SuiteBoard:
        """Return a suite's board of the existing evidence. An answer without evidence is an infra-error."""
        open_suite = partial(open_grader, self.project, suite, NullProgress(), judge=self.judge, absent=reason)
        return graded_board(open_suite, suite, self.submissions, self.panel, self.error, awaiting)

    def raise_if_empty(self) -> None:
        """Raise the first error if no executable answer on any board has a verdict."""
        decided = any(_is_decided(result) for board in self.found.boards for result in board.results)
        if self.first is not None and not decided:
            raise self.first


def _is_decided(result: Result) -> bool:
    """Return whether an answer has a verdict. An answer without an executable command needs no evidence."""
    return result.finding.outcome is not Outcome.INFRA_ERROR and is_executable(result.command)
