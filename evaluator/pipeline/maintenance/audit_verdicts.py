"""Audit the verdicts in this machine's store, or the published verdicts, for a maintainer.

Nothing is executed: the evidence must be in the store, or among the fetched evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from evaluator.errors import MissingError, UsageError
from evaluator.pipeline.grading.audit import (
    AuditableVerdict,
    AuditPlan,
    AuditReport,
    AuditResult,
    audit_question,
    audit_report,
    audit_result,
    by_execution,
    check_auditable,
    draw_sample,
)
from evaluator.pipeline.grading.executor import open_grader
from evaluator.pipeline.grading.grader import Grader
from evaluator.pipeline.grading.llm_panel import PanelUse, open_panel
from evaluator.pipeline.grading.results import answers, up_to_pass
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.audit_published import audit_published
from evaluator.pipeline.submissions.board_suites import suites_on_board
from evaluator.pipeline.submissions.repository import load_submissions
from evaluator.progress import Progress
from evaluator.store import Store
from evaluator.submissions.validate import Submission

if TYPE_CHECKING:
    from evaluator.judges.panel.panel import Panel


def audit_verdicts(
    project: Project,
    progress: Progress,
    use: PanelUse,
    plan: AuditPlan,
    *,
    published: bool = False,
    suites: Sequence[str] = (),
    slugs: Sequence[str] = (),
) -> AuditReport:
    """Audit the verdicts in the store, or the published verdicts if `published` is set.

    Raises UsageError if no panel is configured, MissingError if `use` has no key, and MissingError if there is no
    verdict to audit.
    """
    with open_panel(project, progress, use._replace(wanted=True)) as panel:
        if panel is None or not panel.settings.models:
            raise UsageError(
                "an audit needs a panel with models: name them in [tool.bashboard.panel] of pyproject.toml"
            )
        if published:
            with closing(Store(project.store_path)) as store:
                results = audit_published(project, progress, store, panel, plan)
        else:
            results = _audit_store(project, progress, panel, plan, suites, slugs)
        if not results:
            source = "bashboard fetch" if published else "bashboard score"
            raise MissingError(f"there is no verdict with evidence that execution alone decided; run: {source}")
        return audit_report(results, panel)


def _audit_store(
    project: Project,
    progress: Progress,
    panel: Panel,
    plan: AuditPlan,
    suites: Sequence[str],
    slugs: Sequence[str],
) -> list[AuditResult]:
    submissions = load_submissions(project, slugs)
    results = []
    for suite in [project.suite(name) for name in suites] or suites_on_board(project, submissions).suites:
        with open_grader(project, suite, progress, execute=False) as grader:
            check_auditable(grader.judge)
            if result := _audit_suite(grader, panel, plan, submissions):
                results.append(result)
    return results


def _audit_suite(
    grader: Grader, panel: Panel, plan: AuditPlan, submissions: Sequence[Submission]
) -> AuditResult | None:
    """Audit the verdicts on one suite. Return None if no verdict has its evidence in the store."""
    candidates = list(answers(grader.suite, submissions))
    findings = grader.known(candidate.subject for candidate in candidates)
    population = [
        AuditableVerdict(candidate.submission, candidate.subject, findings[candidate.subject])
        for candidate in up_to_pass(candidates, findings)
        if candidate.candidate and candidate.subject in findings and by_execution(findings[candidate.subject])
    ]
    sample = draw_sample(population, plan.sample, plan.seed)
    complete = set(grader.load_cached(verdict.item for verdict in sample))
    own = {submission.slug: submission.manifest.models for submission in submissions}
    questions = {
        verdict: audit_question(grader, verdict, own[verdict.submission])
        for verdict in sample
        if verdict.item in complete
    }
    return audit_result(grader.suite.manifest, grader.judge, panel, plan, population, questions) if questions else None
