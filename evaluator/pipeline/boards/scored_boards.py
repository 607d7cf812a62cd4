"""Score submissions: grade their answers and assemble boards from the results.

The module also reads the published metrics of judges, which give the measured error of a board's judge.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem
from evaluator.judges import find_judge
from evaluator.leaderboard.board import SuiteBoard
from evaluator.metrics.judge_error import JudgeError, measured_error
from evaluator.pipeline.boards.assembly import board_of_results, suite_facts, task_facts
from evaluator.pipeline.grading.cache_keys import is_executable
from evaluator.pipeline.grading.executor import BaseChangedError, open_grader
from evaluator.pipeline.grading.grader import Grader, Plan
from evaluator.pipeline.grading.llm_panel import PanelItem, ask_panel, describe_panel, plan_panel
from evaluator.pipeline.grading.results import answers, chains_of, final_findings, measure_texts, result_of, up_to_pass
from evaluator.pipeline.grading.run_metrics import cached_run_metrics
from evaluator.pipeline.project import Project
from evaluator.pipeline.submissions.board_suites import suites_on_board
from evaluator.pipeline.submissions.repository import (
    load_sound,
    load_submissions,
    report_left_out,
)
from evaluator.progress import Progress
from evaluator.records import Outcome, Result, Validation
from evaluator.store import store_in_use
from evaluator.submissions.validate import Submission
from evaluator.suites.load import Suite

if TYPE_CHECKING:
    from evaluator.judges.panel.panel import Panel


JUDGE_METRICS: Final = Path("site/assets/judges.json")
"""The path of the judges' metrics that the site shows."""


def read_validation(path: Path) -> Validation:
    """Read the judges' metrics from a file.

    If the file is missing, return no metrics. Raises FormatError if the file is invalid.
    """
    if not path.is_file():
        return Validation(format=1)
    try:
        return Validation.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise FormatError([Problem(path, 0, f"expected a file of judges' metrics: {error}")]) from error


def board_of(
    suite: Suite,
    submissions: Sequence[Submission],
    grader: Grader,
    panel: Panel | None = None,
    error: JudgeError | None = None,
    absent: str | None = None,
) -> SuiteBoard:
    """Grade the answers of these submissions to a suite, and return the suite's board.

    Only answers without a verdict are graded. Then the panel, if any, is asked about undecided answers. `error` is the
    measured error of the grader's judge. With `absent`, a submission has no row if this is the reason of the findings
    on all its executable commands. It is listed as awaiting its verdicts.
    """
    results = results_of(suite, submissions, grader, panel)
    lacking = dict.fromkeys(result.submission for result in results if absent and result.finding.reason == absent)
    executed = (result for result in results if is_executable(result.command))
    graded = {result.submission for result in executed if result.finding.reason != absent}
    awaiting = {submission: None for submission in lacking if submission not in graded}
    results = [result for result in results if result.submission not in awaiting]
    manifests = {submission.slug: submission.manifest for submission in submissions}
    base = f"{suite.manifest.base}{suite.manifest.replaced_bases(grader.fingerprint)}"
    environment = {
        "Base": f"{base}, fingerprint {grader.fingerprint[:16] or 'unknown'}",
        "Judge": f"{grader.judge.name}, version {grader.judge.version}",
    }
    environment |= suite_facts(suite.manifest) | describe_panel(panel, results)
    board = board_of_results(suite, manifests, results, task_facts(suite, grader.store), environment, error)
    return replace(board, awaiting=tuple(awaiting))


def results_of(
    suite: Suite, submissions: Sequence[Submission], grader: Grader, panel: Panel | None = None
) -> list[Result]:
    """Return the result of every answer. Grade answers without a verdict, and ask the panel about undecided answers.

    The panel is asked about candidates of rank 1 before all other candidates.
    """
    candidates = list(answers(suite, submissions))
    chains = chains_of(candidates)
    findings = grader.grade_chains([candidate.subject for candidate in chain] for chain in chains)
    by_rank = sorted(up_to_pass(candidates, findings), key=lambda candidate: candidate.rank)
    models = {submission.slug: submission.manifest.models for submission in submissions}
    by_panel = ask_panel(
        panel, grader, (PanelItem(each.submission, each.subject) for each in by_rank), findings, models
    )
    final = []
    for chain in chains:
        items = [PanelItem(candidate.submission, candidate.subject) for candidate in chain]
        judged = {item: by_panel.get(item, findings[item.subject]) for item in items if item.subject in findings}
        own = final_findings(items, judged)
        final += [(candidate, own[item]) for candidate, item in zip(chain, items, strict=True)]
    executed = [candidate for candidate, finding in final if finding.outcome is not Outcome.NOT_RUN]
    runs = cached_run_metrics(grader, ((candidate.task.id, candidate.subject.command) for candidate in executed))
    texts = measure_texts(grader.store, candidates)
    results = []
    for candidate, finding in final:
        position = (candidate.task.id, candidate.subject.command)
        run = None if finding.outcome is Outcome.NOT_RUN else runs.get(position)
        results.append(result_of(suite.manifest.name, candidate, finding, texts, run))
    return results


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
    say: Callable[[str], None] | None = None,
    fresh: bool = True,
) -> list[SuiteBoard]:
    """Score submissions on suites, and return the suites' boards. By default, use all suites and submissions.

    If there is a panel (see `open_panel`), it is asked about answers that the judge leaves undecided. If `execute` is
    false, raise MissingError with a list of missing evidence. A submission that cannot be scored raises FormatError. If
    `say` is given, such a submission is left out and reported to `say` instead. If `fresh` is false, no command runs in
    a fresh variant.
    """
    error = judge_error(project, judge)
    boards = []
    with store_in_use(project.store_path):
        loaded = _load(project, submissions, say)
        loaded = loaded if fresh else [replace(submission, origin="") for submission in loaded]
        chosen = [project.suite(name) for name in suites] or suites_on_board(project, loaded).suites
        for suite in chosen:
            open_suite = functools.partial(
                open_grader, project, suite, progress, judge=judge, workers=workers, execute=execute
            )
            boards.append(graded_board(open_suite, suite, loaded, panel, error))
    return boards


def graded_board(
    open_suite: Callable[[], AbstractContextManager[Grader]],
    suite: Suite,
    submissions: Sequence[Submission],
    panel: Panel | None,
    error: JudgeError | None,
    absent: str | None = None,
) -> SuiteBoard:
    """Return a suite's board from a grader. If the suite's image was rebuilt with other packages, begin again."""
    try:
        with open_suite() as grader:
            return board_of(suite, submissions, grader, panel, error, absent)
    except BaseChangedError:  # the rebuilt image has other packages, so that all cache keys differ
        with open_suite() as grader:
            return board_of(suite, submissions, grader, panel, error, absent)


def _load(project: Project, slugs: Sequence[str], say: Callable[[str], None] | None) -> list[Submission]:
    if say is None:
        return load_submissions(project, slugs)
    sound = load_sound(project, slugs)
    report_left_out(sound, say)
    return list(sound.submissions)


def judge_error(project: Project, judge: str | None = None) -> JudgeError | None:
    """Return the measured error of the current version of a judge, by default of the project's judge.

    The error comes from the published metrics of judges. Return None if they have no error of this version.
    """
    current = find_judge(judge or project.settings.judge)
    validation = read_validation(project.root / JUDGE_METRICS)
    return measured_error(
        row for row in validation.figures if (row.judge, row.version) == (current.name, current.version)
    )


def plan_rescore(
    project: Project,
    suite: Suite,
    progress: Progress,
    submissions: Sequence[Submission],
    judge: str | None = None,
    panel: Panel | None = None,
) -> Plan:
    """Plan the work to grade a suite. The plan states why an answer has no verdict, and includes the panel's work."""
    models = {entry.slug: entry.manifest.models for entry in submissions}
    with open_grader(project, suite, progress, judge=judge) as grader:
        candidates = list(answers(suite, submissions))
        known = grader.known(candidate.subject for candidate in candidates)
        candidates = up_to_pass(candidates, known)
        pending = [[each.subject for each in chain if each.subject not in known] for chain in chains_of(candidates)]
        plan = grader.plan(item for items in pending for item in items)
        least = grader.plan(items[0] for items in pending if items)  # the others may turn out to be behind a pass
        panel_items = (PanelItem(candidate.submission, candidate.subject) for candidate in candidates)
        return plan._replace(executions=least.executions, panel=plan_panel(panel, grader, panel_items, models))


def infra_errors_by_reason(boards: Sequence[SuiteBoard]) -> Counter[str]:
    """Count the infra-errors on these boards by reason. A later run tries the answers with infra-errors again."""
    findings = (result.finding for board in boards for result in board.results)
    return Counter(finding.reason for finding in findings if finding.outcome is Outcome.INFRA_ERROR)
