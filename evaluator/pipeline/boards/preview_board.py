"""Preview a submission before it is merged.

A preview shows the rank of the submission on the board, and the nearest other submissions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from evaluator.errors import Problem, Severity, UsageError
from evaluator.github.comment.body import PullRequestContext, render_comment
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
from evaluator.pipeline.submissions.origins import held_submissions
from evaluator.pipeline.submissions.repository import check_folders, held_until, load_submissions
from evaluator.progress import Progress
from evaluator.records import (
    Neighbour,
    OpenVerdict,
    Outcome,
    Preview,
    Rejection,
    Result,
    Role,
    Standing,
    Step,
    TaskList,
    UnrelatedPaths,
)
from evaluator.records.preview import PATHS, TEXT, TOLD

_DEFAULT_SUITE: Final = "core"
_COUNT_FIELDS: Final = ("asked", "passed", "failed", "timeout", "invalid", "unanswered", "undecided", "infra_errors")
_ACCURACY_FIELDS: Final = ("accuracy", "accuracy_low", "accuracy_high", "accuracy_upper")
_RANK_FIELDS: Final = ("unranked", "not_asked", "rank_low", "rank_high", "tie_group")


class PreviewResult(NamedTuple):
    """The problems and the preview of a submission. If a problem is an error, the preview is None.

    If the final phase holds the submission, `held` says until when, and the preview is None too.
    """

    submission: str
    problems: tuple[Problem, ...]
    preview: Preview | None
    held: str = ""

    @property
    def markdown(self) -> str:
        """Return the comment for the submission's pull request, in Markdown."""
        return render_comment(self.submission, self.problems, self.preview, PullRequestContext(held=self.held))


def preview_submission(
    project: Project,
    progress: Progress,
    slug: str,
    *,
    suite: str | None = None,
    judge: str | None = None,
    workers: int | None = None,
    published: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> PreviewResult:
    """Check a submission. If it has no errors, execute its commands that have no evidence, and return a preview.

    The default `suite` is `core`. If the submission does not answer `core`, the default is the first suite that the
    submission answers. If `published` is set, the other rows of the board come from committed verdict files, so that no
    other submission is executed or judged. The submission then runs in no fresh variant, because the commit that
    decides its seed does not exist yet. Another submission that cannot be scored is left out and reported to `say`.
    Nothing of a submission that the final phase holds is executed.

    Raises UsageError if the submission does not exist or does not answer the suite.
    """
    folder = project.submission_folder(slug)
    checked = check_folders(project, [folder])
    problems = tuple(problem._replace(path=problem.path.relative_to(project.root)) for problem in checked)
    if any(problem.severity is Severity.ERROR for problem in problems):
        return PreviewResult(slug, problems, None)
    if slug in held_submissions(project):
        return PreviewResult(slug, problems, None, held_until(project))
    (submission,) = load_submissions(project, [slug])
    suite = suite or min(submission.manifest.suites, key=lambda name: (name != _DEFAULT_SUITE, name))
    if suite not in submission.manifest.suites:
        raise UsageError(f"{slug} does not answer suite {suite}; it answers: {', '.join(submission.manifest.suites)}")
    with open_panel(project, progress, judge=judge) as panel:
        make = functools.partial(make_boards, project, progress, suites=[suite], judge=judge, workers=workers)
        if published:
            (own_board,) = make(submissions=[slug], panel=panel, fresh=False)
            board = merge_with_published(project, own_board, say)
        else:
            (board,) = make(panel=panel, say=say)
    with_collateral = [row for row in _first_results(board, slug).values() if row.finding.collateral]
    paths = _collateral_paths(project, progress, with_collateral, suite=suite, judge=judge)
    return PreviewResult(slug, problems, preview_of(board, slug, judge or project.settings.judge, paths))


def _first_results(board: SuiteBoard, slug: str) -> dict[str, Result]:
    """Return the result of a submission's first candidate for each task, in the order of the suite's tasks."""
    by_task = {row.task: row for row in board.results if row.submission == slug and row.rank == 1}
    return {task.id: by_task[task.id] for task in board.tasks if task.id in by_task}


def _collateral_paths(
    project: Project, progress: Progress, results: Sequence[Result], *, suite: str, judge: str | None
) -> dict[str, tuple[bytes, ...]]:
    """Return for each task the paths that the result's command changes but no reference changes.

    Use only evidence that is already in the store.
    """
    items = [GradingItem(result.task, result.command) for result in results][:TOLD]
    if not items:
        return {}
    with open_grader(project, project.suite(suite), progress, judge=judge, execute=False) as grader:
        return {item.task: collateral_paths(grader.case(item)) for item in grader.load_cached(items)}


def preview_of(board: SuiteBoard, slug: str, judge: str, paths: Mapping[str, tuple[bytes, ...]]) -> Preview:
    """Return the preview of a submission on a board.

    For each task, `paths` holds the paths that the submission's command changes but no reference changes. Raises
    UsageError if the board has no row for the submission.
    """
    row = next((standing for standing in board.standings if standing.submission == slug), None)
    if row is None:
        raise UsageError(f"{slug} has no row on the board of {board.name}: there is nothing to preview")
    results = _first_results(board, slug)
    others = [standing for standing in board.standings if standing.ranked and standing.submission != slug]
    with_collateral = [result for result in results.values() if result.finding.collateral]
    undecided = [result for result in results.values() if result.finding.outcome is Outcome.UNDECIDED]
    judge_in_use = find_judge(judge)
    return Preview(
        submission=slug,
        suite=board.name,
        suite_version=board.manifest.version,
        judge=judge_in_use.name,
        judge_version=judge_in_use.version,
        **{name: getattr(row, name) for name in (*_COUNT_FIELDS, *_ACCURACY_FIELDS, *_RANK_FIELDS)},
        ranked=len(others) + row.ranked,
        topics=row.topics,
        rivals=tuple(_neighbour(board, slug, other, roles) for other, roles in _nearest(row, others)),
        alone=_passed_alone(board, results, others),
        collateral=len(with_collateral),
        touched=tuple(_unrelated_paths(result.task, paths.get(result.task, ())) for result in with_collateral[:TOLD]),
        open_verdicts=tuple(map(_open_verdict, undecided[:TOLD])),
        rejections=tuple(_rejections(results.values()))[:TOLD],
    )


def _rejections(results: Iterable[Result]) -> Iterator[Rejection]:
    """Yield the rejections by the tasks' verifiers, with the reasons."""
    for result in results:
        finding = result.finding
        if finding.outcome is Outcome.FAIL and finding.step is Step.VERIFIER:
            variant = finding.variant[:TEXT] if finding.variant else None
            yield Rejection(task=result.task, reason=finding.reason[:TEXT], variant=variant)


def _nearest(row: Standing, others: Sequence[Standing]) -> list[tuple[Standing, tuple[Role, ...]]]:
    """Return the leader, the submission directly above `row`, and the submission directly below `row`.

    Each submission comes with its roles. If the leader is directly above `row`, it occurs once, with both roles.
    """
    above = [other for other in others if _sort_key(other) < _sort_key(row)]
    below = [other for other in others if _sort_key(other) > _sort_key(row)]
    candidates = [(Role.LEADER, above[:1]), (Role.BETTER, above[-1:]), (Role.WORSE, below[:1])]
    neighbours: dict[str, tuple[Standing, tuple[Role, ...]]] = {}
    for role, rows in candidates:
        for other in rows:
            _, earlier_roles = neighbours.get(other.submission, (other, ()))
            neighbours[other.submission] = (other, (*earlier_roles, role))
    return list(neighbours.values())


def _sort_key(row: Standing) -> tuple[float, str]:
    """Return the key by which a preview sorts standings: accuracy from high to low, then the submission's name."""
    return (-row.accuracy, row.submission)


def _neighbour(board: SuiteBoard, slug: str, other: Standing, roles: tuple[Role, ...]) -> Neighbour:
    comparison = compare_on(board, slug, other.submission)
    passed_by_first = {pair.task: pair.first.outcome is Outcome.PASS for pair in comparison.tasks}
    return Neighbour(
        submission=other.submission,
        roles=roles,
        asked=other.asked,
        passed=other.passed,
        topics=other.topics,
        difference=comparison.difference,
        difference_low=comparison.difference_low,
        difference_high=comparison.difference_high,
        p_value=comparison.p_value,
        gained=TaskList.of(task for task, is_passed in passed_by_first.items() if is_passed),
        lost=TaskList.of(task for task, is_passed in passed_by_first.items() if not is_passed),
    )


def _passed_alone(board: SuiteBoard, results: Mapping[str, Result], others: Sequence[Standing]) -> TaskList:
    if not others:
        return TaskList()
    slugs = {other.submission for other in others}
    passed_by_others = {row.task for row in board.results if row.submission in slugs and _is_passed(row)}
    return TaskList.of(task for task, row in results.items() if _is_passed(row) and task not in passed_by_others)


def _is_passed(result: Result) -> bool:
    return result.rank == 1 and result.finding.outcome is Outcome.PASS


def _unrelated_paths(task: str, paths: Sequence[bytes]) -> UnrelatedPaths:
    shown = tuple(path.decode(errors="backslashreplace")[:TEXT] for path in paths[:PATHS])
    return UnrelatedPaths(task=task, total=len(paths), paths=shown)


def _open_verdict(result: Result) -> OpenVerdict:
    finding = result.finding
    variant = finding.variant[:TEXT] if finding.variant else None
    return OpenVerdict(task=result.task, step=finding.step, reason=finding.reason[:TEXT], variant=variant)
