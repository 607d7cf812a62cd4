"""Preview of a submission before it is merged: its rank on the board, and comparisons with its neighbours."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from evaluator.errors import Problem, Severity, UsageError
from evaluator.github.comment.body import render_comment
from evaluator.judges import find_judge
from evaluator.judges.consensus.collateral import collateral_paths
from evaluator.leaderboard.board import SuiteBoard
from evaluator.pipeline.boards.compare import compare_on
from evaluator.pipeline.boards.published_boards import merge_with_published
from evaluator.pipeline.boards.scored_boards import make_boards
from evaluator.pipeline.grading.cache_keys import GradingItem
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.llm_panel import open_panel
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import check_folders, load_submissions
from evaluator.progress import Progress
from evaluator.records import (
    Neighbour,
    OpenVerdict,
    Outcome,
    Preview,
    Result,
    Role,
    Standing,
    TaskList,
    UnrelatedPaths,
)
from evaluator.records.preview import PATHS, TEXT, TOLD

_FIRST: Final = "core"
_COUNTS: Final = ("asked", "passed", "failed", "timeout", "invalid", "unanswered", "undecided", "infra_errors")
_SHARES: Final = ("accuracy", "accuracy_low", "accuracy_high", "accuracy_upper")
_PLACES: Final = ("unranked", "not_asked", "rank_low", "rank_high", "tie_group")


class Previewed(NamedTuple):
    """The problems of a submission, with paths relative to the repository, and its preview, or None after an error."""

    submission: str
    problems: tuple[Problem, ...]
    preview: Preview | None

    @property
    def markdown(self) -> str:
        """Return the Markdown of the pull request comment."""
        return render_comment(self.submission, self.problems, self.preview)


def preview_submission(
    project: Project,
    progress: Progress,
    slug: str,
    *,
    suite: str | None = None,
    judge: str | None = None,
    workers: int | None = None,
    published: bool = False,
) -> Previewed:
    """Check a submission and, if it has no errors, grade the suite's board with it. Missing evidence is executed.

    The default `suite` is `core`, or else the first suite that the submission answers. If `published` is set, the other
    rows come from committed verdict files, so that no other submission is executed or judged.

    Raises UsageError if the submission does not exist or does not answer the suite.
    """
    folder = project.submission_folder(slug)
    found = check_folders(project, [folder])
    problems = tuple(each._replace(path=each.path.relative_to(project.root)) for each in found)
    if any(each.severity is Severity.ERROR for each in problems):
        return Previewed(slug, problems, None)
    (entry,) = load_submissions(project, [slug])
    suite = suite or min(entry.manifest.suites, key=lambda name: (name != _FIRST, name))
    if suite not in entry.manifest.suites:
        raise UsageError(f"{slug} does not answer suite {suite}; it answers: {', '.join(entry.manifest.suites)}")
    with open_panel(project, progress, judge=judge) as panel:
        make = functools.partial(make_boards, project, progress, suites=[suite], judge=judge, workers=workers)
        if published:
            (own,) = make(submissions=[slug], panel=panel)
            board = merge_with_published(project, own)
        else:
            (board,) = make(panel=panel)
    touching = [each for each in _firsts(board, slug).values() if each.finding.collateral]
    paths = _paths_touched(project, progress, touching, suite=suite, judge=judge)
    return Previewed(slug, problems, preview_of(board, slug, judge or project.settings.judge, paths))


def _firsts(board: SuiteBoard, slug: str) -> dict[str, Result]:
    """Return the results of a submission's first candidates by task, in the suite's order."""
    found = {row.task: row for row in board.results if row.submission == slug and row.rank == 1}
    return {task.id: found[task.id] for task in board.tasks if task.id in found}


def _paths_touched(
    project: Project, progress: Progress, results: Sequence[Result], *, suite: str, judge: str | None
) -> dict[str, tuple[bytes, ...]]:
    """Return, by task, the paths that these commands touch and no reference does, if their evidence is cached."""
    subjects = [GradingItem(each.task, each.command) for each in results][:TOLD]
    if not subjects:
        return {}
    with open_grader(project, project.suite(suite), progress, judge=judge, execute=False) as grader:
        return {each.task: collateral_paths(grader.case(each)) for each in grader.load_cached(subjects)}


def preview_of(board: SuiteBoard, slug: str, judge: str, paths: Mapping[str, tuple[bytes, ...]]) -> Preview:
    """Return the preview of a submission on the board. `paths` are those that it touches and no reference does, by
    task.

    Raises UsageError if the board has no row for the submission.
    """
    row = next((each for each in board.standings if each.submission == slug), None)
    if row is None:
        raise UsageError(f"{slug} is asked no task of {board.name}: there is nothing to preview")
    firsts = _firsts(board, slug)
    others = [each for each in board.standings if each.ranked and each.submission != slug]
    touching = [each for each in firsts.values() if each.finding.collateral]
    undecided = [each for each in firsts.values() if each.finding.outcome is Outcome.UNDECIDED]
    named = find_judge(judge)
    return Preview(
        submission=slug,
        suite=board.name,
        suite_version=board.manifest.version,
        judge=named.name,
        judge_version=named.version,
        **{name: getattr(row, name) for name in (*_COUNTS, *_SHARES, *_PLACES)},
        ranked=len(others) + row.ranked,
        topics=row.topics,
        rivals=tuple(_rival(board, slug, each, roles) for each, roles in _beside(row, others)),
        alone=_alone(board, firsts, others),
        collateral=len(touching),
        touched=tuple(_touched(each.task, paths.get(each.task, ())) for each in touching[:TOLD]),
        open_verdicts=tuple(map(_open_verdict, undecided[:TOLD])),
    )


def _beside(row: Standing, others: Sequence[Standing]) -> list[tuple[Standing, tuple[Role, ...]]]:
    """Return the leader and the nearest neighbours among the ranked rows, each once, with its roles."""
    above = [each for each in others if _order(each) < _order(row)]
    below = [each for each in others if _order(each) > _order(row)]
    chosen = [(Role.LEADER, above[:1]), (Role.BETTER, above[-1:]), (Role.WORSE, below[:1])]
    found: dict[str, tuple[Standing, tuple[Role, ...]]] = {}
    for role, rows in chosen:
        for each in rows:
            found[each.submission] = (each, (*found.get(each.submission, (each, ()))[1], role))
    return list(found.values())


def _order(row: Standing) -> tuple[float, str]:
    """Return the key by which standings are sorted."""
    return (-row.accuracy, row.submission)


def _rival(board: SuiteBoard, slug: str, other: Standing, roles: tuple[Role, ...]) -> Neighbour:
    compared = compare_on(board, slug, other.submission)
    passed = {each.task: each.first.outcome is Outcome.PASS for each in compared.tasks}
    return Neighbour(
        submission=other.submission,
        roles=roles,
        asked=other.asked,
        passed=other.passed,
        topics=other.topics,
        difference=compared.difference,
        difference_low=compared.difference_low,
        difference_high=compared.difference_high,
        p_value=compared.p_value,
        gained=TaskList.of(task for task, by_first in passed.items() if by_first),
        lost=TaskList.of(task for task, by_first in passed.items() if not by_first),
    )


def _alone(board: SuiteBoard, firsts: Mapping[str, Result], others: Sequence[Standing]) -> TaskList:
    if not others:
        return TaskList()
    names = {each.submission for each in others}
    theirs = {each.task for each in board.results if each.submission in names and _is_passed(each)}
    return TaskList.of(task for task, each in firsts.items() if _is_passed(each) and task not in theirs)


def _is_passed(result: Result) -> bool:
    return result.rank == 1 and result.finding.outcome is Outcome.PASS


def _touched(task: str, paths: Sequence[bytes]) -> UnrelatedPaths:
    told = tuple(path.decode(errors="backslashreplace")[:TEXT] for path in paths[:PATHS])
    return UnrelatedPaths(task=task, total=len(paths), paths=told)


def _open_verdict(result: Result) -> OpenVerdict:
    finding = result.finding
    variant = finding.variant[:TEXT] if finding.variant else None
    return OpenVerdict(task=result.task, step=finding.step, reason=finding.reason[:TEXT], variant=variant)
