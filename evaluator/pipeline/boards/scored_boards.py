"""From submissions to a board: what becomes of what they answer, and where that puts them.

The figures of judges that the project publishes: where they are, and reading them.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem
from evaluator.judges import find_judge
from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.judge_error import JudgeError, measured_error
from evaluator.pipeline.boards.assembly import board_of_results, suite_facts, task_facts
from evaluator.pipeline.grading.executor import BaseChangedError, open_grader
from evaluator.pipeline.grading.grader import Grader, Plan
from evaluator.pipeline.grading.llm_panel import PanelItem, describe_panel, plan_panel, results_with_panel
from evaluator.pipeline.grading.results import answers, measure_texts, result_of
from evaluator.pipeline.grading.run_metrics import cached_run_metrics
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.repository import load_submissions, suites_on_board
from evaluator.progress import Progress
from evaluator.records import Outcome, Result, Validation
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite

if TYPE_CHECKING:
    from evaluator.judges.panel.panel import Panel


PUBLISHED: Final = Path("site/assets/judges.json")
"""Where the figures are that the site shows."""


def read_validation(path: Path) -> Validation:
    """The figures in a file; none where there is no file. Raises FormatError where it is something else."""
    if not path.is_file():
        return Validation(format=1)
    try:
        return Validation.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise FormatError([Problem(path, 0, f"does not read as figures of judges: {error}")]) from error


def board_of(
    suite: Suite,
    submissions: Sequence[Submission],
    grader: Grader,
    panel: Panel | None = None,
    error: JudgeError | None = None,
) -> SuiteBoard:
    """Grade what is not graded yet, show the panel what that leaves undecided, and compute the suite's board.

    `error` is what was measured of the grader's judge.
    """
    results = results_of(suite, submissions, grader, panel)
    manifests = {submission.slug: submission.manifest for submission in submissions}
    environment = _environment(suite, grader) | describe_panel(panel, results)
    return board_of_results(suite, manifests, results, task_facts(suite, grader.store), environment, error)


def results_of(
    suite: Suite, submissions: Sequence[Submission], grader: Grader, panel: Panel | None = None
) -> list[Result]:
    """The result of every answer; what is not graded yet is, and the panel is shown what that leaves undecided."""
    given = list(answers(suite, submissions))
    findings = grader.grade(answer.subject for answer in given)
    texts = measure_texts(grader.store, given)
    runs = cached_run_metrics(grader, ((each.task.id, each.subject.command) for each in given))
    results = [
        result_of(
            suite.manifest.name, each, findings[each.subject], texts, runs.get((each.task.id, each.subject.command))
        )
        for each in given
    ]
    manifests = {submission.slug: submission.manifest for submission in submissions}
    return results_with_panel(panel, grader, results, manifests)


def _environment(suite: Suite, grader: Grader) -> dict[str, str]:
    manifest = suite.manifest
    base = f"{manifest.base.distribution} {manifest.base.release}, fingerprint {grader.fingerprint[:16]}"
    return {"Base": base, "Judge": f"{grader.judge.name}, version {grader.judge.version}"} | suite_facts(manifest)


def make_boards(
    project: Project,
    progress: Progress,
    *,
    suites: Sequence[str] = (),
    submissions: Sequence[str] = (),
    judge: str | None = None,
    workers: int | None = None,
    execute: bool = True,
    panel: Panel | None = None,
) -> list[SuiteBoard]:
    """Boards of the suites named (all where none is), with the submissions named (all where none is).

    What the judge leaves undecided is shown to the panel where there is one (see `open_panel`). With `execute`
    false, MissingError says what has no evidence yet.
    """
    entries = load_submissions(project, submissions)
    loaded = [project.suite(name) for name in suites] or suites_on_board(project, entries)
    error = judge_error(project, judge)
    boards = []
    for suite in loaded:
        open_this = functools.partial(
            open_grader, project, suite, progress, judge=judge, workers=workers, execute=execute
        )
        try:
            with open_this() as grader:
                boards.append(board_of(suite, entries, grader, panel, error))
        except BaseChangedError:  # the image had to be built anew and brought other packages: other keys
            with open_this() as grader:
                boards.append(board_of(suite, entries, grader, panel, error))
    return boards


def judge_error(project: Project, judge: str | None = None) -> JudgeError | None:
    """What the project publishes about errors of the judge named (its own where none is), in its present version."""
    asked = find_judge(judge or project.settings.judge)
    published = read_validation(project.root / PUBLISHED)
    return measured_error(
        each for each in published.figures if (each.judge, each.version) == (asked.name, asked.version)
    )


def plan_rescore(
    project: Project,
    suite: Suite,
    progress: Progress,
    submissions: Sequence[str] = (),
    judge: str | None = None,
    panel: Panel | None = None,
) -> Plan:
    """What grading a suite would do now, and why; with a panel also what that would be asked."""
    entries = load_submissions(project, submissions)
    own = {entry.slug: entry.manifest.models for entry in entries}
    with open_grader(project, suite, progress, judge=judge) as grader:
        given = list(answers(suite, entries))
        places = (PanelItem(answer.submission, answer.subject) for answer in given)
        plan = grader.plan(answer.subject for answer in given)
        return plan._replace(panel=plan_panel(panel, grader, places, own))


def incomplete(boards: Sequence[SuiteBoard]) -> Counter[str]:
    """How many results are infra-errors, ours and to be tried again, by their reasons."""
    findings = (result.finding for board in boards for result in board.results)
    return Counter(finding.reason for finding in findings if finding.outcome is Outcome.INFRA_ERROR)
