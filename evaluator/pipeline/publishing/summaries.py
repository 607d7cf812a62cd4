"""Write summaries of a publish workflow's plan and of its judged verdicts. Markdown shows untrusted text as code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from evaluator.errors import Problem
from evaluator.github.comment.markdown import cell, code, table
from evaluator.pipeline.grading.audit import AuditedVerdict, AuditReport, audit_words
from evaluator.pipeline.grading.grader import PanelPlan
from evaluator.pipeline.publishing.judge_pending import PublishResult, PublishRow
from evaluator.pipeline.publishing.plan import MOST_AT_ONCE, PublishPlan
from evaluator.pipeline.publishing.status import PendingWork
from evaluator.wording import pluralize

LISTED: Final = 60
"""Maximum rows of a table or lines of a list in a summary."""


def panel_words(panel: PanelPlan) -> str:
    """Return the cost of requests to the LLM panel as text."""
    cost = "at an unknown price" if panel.usd is None else f"about US$ {panel.usd:.4f}"
    return f"{panel.undecided:,} undecided; at most {pluralize(panel.calls, 'call')}, {cost}"


def plan_markdown(plan: PublishPlan) -> str:
    """Return the plan of a publish run as GitHub Markdown."""
    return "\n".join(_plan_lines(plan))


def _plan_lines(plan: PublishPlan) -> Iterator[str]:
    yield f"### {'Rescore' if plan.stale else 'Publish'}: {plan_words(plan)}"
    yield ""
    yield from _table(plan.due)
    if plan.references:
        lacking = ", ".join(f"{code(suite)} {count:,}" for suite, count in plan.references.items())
        yield f"References without evidence, in runs: {lacking}. Second runs cannot be planned before it is available."
    if plan.panel:
        yield f"The panel, about what has evidence already: {panel_words(plan.panel)}."
    if plan.left_over:
        yield f"One run executes {MOST_AT_ONCE}: {pluralize(len(plan.left_over), 'submission')} wait for the next."
    if plan.waiting:
        yield f"Waiting for a rescore: {pluralize(len(plan.waiting), 'submission')}, which stand as they were judged:"
        yield ""
        yield from _table(plan.waiting)
    yield from _problems("Edited by hand and restored", [problem for work in plan.due for problem in work.edited])
    yield from _broken(plan.broken)
    yield from _unavailable(plan.unavailable)


def plan_words(plan: PublishPlan) -> str:
    """Return the plan of a publish run as one line of text."""
    if not plan.anything:
        return "nothing to do"
    due, executed = pluralize(len(plan.due), "submission"), pluralize(len(plan.submissions), "submission")
    return f"{due} due, {executed} to execute, at least {pluralize(plan.executions, 'execution')}"


def _table(works: Sequence[PendingWork]) -> Iterator[str]:
    if not works:
        return
    rows = [
        [
            f"{cell(work.submission)} on {cell(work.suite)}",
            "; ".join(map(cell, work.words)),
            f"{work.executions:,}",
        ]
        for work in works[:LISTED]
    ]
    yield table(["Submission", "Why", "Executions"], rows)
    yield from _more(len(works))
    yield ""


def _more(number: int) -> Iterator[str]:
    if number > LISTED:
        yield f"\nand {number - LISTED:,} more"


def _problems(title: str, problems: Sequence[Problem]) -> Iterator[str]:
    if problems:
        yield f"\n{title}:\n"
        for problem in problems[:LISTED]:
            yield f"- {code(f'{problem.path.name}:{problem.line}')}: {code(problem.message)}"
        yield from _more(len(problems))


def _broken(broken: Mapping[str, Sequence[Problem]]) -> Iterator[str]:
    if broken:
        yield "\nNot scored, because they break their format:\n"
        for slug, problems in list(broken.items())[:LISTED]:
            if problems:
                yield f"- {code(slug)}: {code(str(problems[0]))}"
        yield from _more(len(broken))


def _unavailable(unavailable: Mapping[str, str]) -> Iterator[str]:
    if unavailable:
        yield "\nSuites that are left out, whose published verdicts stay:\n"
        yield from (f"- {code(name)}: {code(reason)}" for name, reason in unavailable.items())


def judged_markdown(judged: PublishResult) -> str:
    """Return a summary, in GitHub Markdown, of how the pending commands were judged."""
    return "\n".join(_judged_lines(judged))


def judged_words(judged: PublishResult) -> str:
    """Return the result of judging pending commands as one line of text."""
    if not judged.rows:
        return "nothing was due"
    written = sum(row.written for row in judged.rows)
    lacking = f"; {pluralize(judged.missing, 'command')} without a verdict" if judged.missing else ""
    return f"{pluralize(sum(row.given for row in judged.rows), 'verdict')}, {pluralize(written, 'new file')}{lacking}"


def _judged_lines(judged: PublishResult) -> Iterator[str]:
    yield f"### Judged: {judged_words(judged)}"
    yield ""
    if judged.rows:
        yield table(["Submission", "Verdicts", "Without", "What became of it"], list(map(_row, judged.rows[:LISTED])))
        yield from _more(len(judged.rows))
        yield ""
    if judged.panel:
        yield f"{judged.panel[:1].upper()}{judged.panel[1:]}.\n"
    if judged.missing:
        yield "Commands without a verdict are failures of ours, never scores; the next run tries them again:\n"
        yield from (f"- {code(slug)}: {code(reason)} ({count:,})" for slug, reason, count in _reasons(judged.rows))
    for slug, faults in judged.faults.items():
        yield from (f"- {code(slug)}: {code(fault)}" for fault in faults)
    yield from _problems("Edited by hand and restored", [problem for row in judged.rows for problem in row.work.edited])
    yield from _unavailable(judged.unavailable)
    yield from _audit_markdown(judged.audit)
    if changes := judged.archive.header.told.get("changes"):
        yield f"\n{changes}"


def _row(row: PublishRow) -> list[str]:
    result = row.left or ("a new file" if row.written else "as it stands")
    if row.left_out:
        result += f"; {pluralize(row.left_out, 'run')} of evidence left out because the bundle is full"
    name = f"{cell(row.work.submission)} on {cell(row.work.suite)}"
    return [name, f"{row.given:,}", f"{sum(row.missing.values()):,}", result]


def _reasons(rows: Sequence[PublishRow]) -> Iterator[tuple[str, str, int]]:
    for row in rows[:LISTED]:
        yield from ((row.work.submission, reason, count) for reason, count in row.missing.items())


def audit_lines(report: AuditReport | None) -> list[str]:
    """Return the results of an audit as lines of text, without text of a contributor."""
    if report is None:
        return []
    return [*(audit_words(result.audit) for result in report.results), f"audit: {report.panel}"]


def _audit_markdown(report: AuditReport | None) -> Iterator[str]:
    """Yield the results of an audit, and the verdicts that the panel disagrees with."""
    if report is None:
        return
    yield "\n### Audit of verdicts that execution alone decided\n"
    yield from (f"- {code(line)}" for line in audit_lines(report))
    disputed = [(result.audit.suite, each) for result in report.results for each in result.disagreements]
    if disputed:
        rows = [_disputed_row(suite, audited) for suite, audited in disputed[:LISTED]]
        yield ""
        yield table(["Submission", "Task", "Command", "Judge", "Panel"], rows)
        yield from _more(len(disputed))


def _disputed_row(suite: str, audited: AuditedVerdict) -> list[str]:
    verdict, panel = audited
    command = verdict.command.decode(errors="backslashreplace")
    return [
        f"{cell(verdict.submission)} on {cell(suite)}",
        cell(verdict.item.task),
        cell(command),
        *(cell(f"{finding.outcome.value}: {finding.reason}") for finding in (verdict.finding, panel)),
    ]
