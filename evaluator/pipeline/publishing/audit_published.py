"""Audit published verdicts from the published evidence. Nothing is executed.

Each case is made from the references' evidence and the evidence of one submission. So forged evidence of a submission
can only affect the audit of that submission's own verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from evaluator.errors import BashboardError
from evaluator.judges.panel.settings import KEY_VARIABLE
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
from evaluator.pipeline.grading.audit_log import AUDITS, read_audits, was_audited
from evaluator.pipeline.grading.llm_panel import PanelUse, open_panel
from evaluator.pipeline.project import Project
from evaluator.pipeline.publishing.derive import SubmissionRun
from evaluator.pipeline.publishing.evidence_sources import EvidenceSources
from evaluator.pipeline.publishing.plan import load_suite_contexts
from evaluator.pipeline.publishing.status import line_key, read_published_file
from evaluator.pipeline.publishing.suite_context import SuiteContext
from evaluator.pipeline.submissions.repository import load_sound
from evaluator.progress import Progress
from evaluator.store import Store
from evaluator.submissions.validate import Submission

if TYPE_CHECKING:
    from evaluator.judges.panel.panel import Panel, Undecided


def daily_audit(
    project: Project, progress: Progress, store: Store, environment: Mapping[str, str]
) -> AuditReport | None:
    """Audit each suite that has no committed audit of today, within the budget of the settings.

    Return None if the settings have no audit or no panel, or if `environment` has no key. An error does not prevent the
    publication of verdicts, so it becomes the report's summary.
    """
    settings = project.settings.audit
    if settings is None or project.settings.panel is None or not environment.get(KEY_VARIABLE):
        return None
    use = PanelUse(environment, True, settings.max_calls, settings.max_usd)
    try:
        with open_panel(project, progress, use) as panel:
            if panel is None:
                return None
            plan = AuditPlan.of_today(settings.sample)
            return audit_report(audit_published(project, progress, store, panel, plan, once_a_day=True), panel)
    except BashboardError as error:
        return AuditReport((), f"no audit: {error}", failed=True)


def audit_published(
    project: Project,
    progress: Progress,
    store: Store,
    panel: Panel,
    plan: AuditPlan,
    *,
    once_a_day: bool = False,
) -> list[AuditResult]:
    """Audit the published verdicts of each suite. Suites without verdicts or evidence are left out.

    If `once_a_day` is set, also leave out suites with a committed audit of the plan's day.
    """
    loaded, sources = load_sound(project), EvidenceSources.of(project)
    known = read_audits(project.root / AUDITS) if once_a_day else ()
    results = []
    for context in load_suite_contexts(project, store, loaded).contexts:
        name = context.suite.manifest.name
        if not was_audited(known, name, plan.day) and not context.missing_references:
            progress.say(f"auditing published verdicts on {name}")
            submissions = [each for each in loaded.submissions if name in each.manifest.suites]
            if result := _audit_context(project, context, submissions, sources, panel, plan):
                results.append(result)
    return results


def _audit_context(
    project: Project,
    context: SuiteContext,
    submissions: Sequence[Submission],
    sources: EvidenceSources,
    panel: Panel,
    plan: AuditPlan,
) -> AuditResult | None:
    check_auditable(context.judge)
    runs = {submission.slug: SubmissionRun(context, submission) for submission in submissions}
    population = [verdict for run in runs.values() for verdict in _published_verdicts(project, run)]
    sample = draw_sample(population, plan.sample, plan.seed)
    questions: dict[AuditableVerdict, Undecided] = {}
    for slug in sorted({verdict.submission for verdict in sample}):
        questions |= _questions(runs[slug], [verdict for verdict in sample if verdict.submission == slug], sources)
    ordered = {verdict: questions[verdict] for verdict in sample if verdict in questions}
    return audit_result(context.suite.manifest, context.judge, panel, plan, population, ordered) if ordered else None


def _published_verdicts(project: Project, run: SubmissionRun) -> Iterator[AuditableVerdict]:
    """Yield the published verdicts of a submission that execution alone decided and that are not outdated."""
    file = read_published_file(project, run).file
    for item in run.items if file else ():
        line = file.by_command.get(line_key(item)) if file else None
        if item.command is not None and line and line.key == run.key(item) and by_execution(line.finding):
            yield AuditableVerdict(run.submission.slug, item, line.finding)


def _questions(
    run: SubmissionRun, sample: Sequence[AuditableVerdict], sources: EvidenceSources
) -> dict[AuditableVerdict, Undecided]:
    """Return the questions about verdicts on one submission. Leave out verdicts without complete evidence."""
    preloaded = run.preloaded(sources.load(run))
    with run.open_grader(preloaded) as grader:
        own, complete = run.submission.manifest.models, set(grader.load_cached(verdict.item for verdict in sample))
        return {verdict: audit_question(grader, verdict, own) for verdict in sample if verdict.item in complete}
