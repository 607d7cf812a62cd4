"""Functions that print the results of `bashboard publish plan`, `publish judge` and `publish verify`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evaluator.escaping import printable
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.pipeline.publishing.judge_pending import PublishResult
    from evaluator.pipeline.publishing.plan import PublishPlan
    from evaluator.pipeline.publishing.status import PendingWork
    from evaluator.pipeline.publishing.verify import VerifiedFile


def print_plan(plan: PublishPlan) -> None:
    """Print the submissions that need verdicts, and why. Then print the submissions that wait for a rescore."""
    from evaluator.pipeline.publishing.summaries import panel_words, plan_words

    typer.echo(f"{'rescore' if plan.stale else 'publish'}: {plan_words(plan)}")
    for each in plan.due:
        executions = pluralize(each.executions, "execution") if each.executions else "evidence available"
        typer.echo(f"  {each.submission} on {each.suite}: {_words(each)}; {executions}")
        for problem in each.edited:
            typer.echo(f"    {problem.path.name}:{problem.line}: {printable(problem.message)}")
    for suite, count in plan.references.items():
        typer.echo(f"  {suite}: {pluralize(count, 'run')} of references without evidence")
    if plan.panel:
        typer.echo(f"  the panel, for commands with evidence: {panel_words(plan.panel)}")
    if plan.left_over:
        typer.echo(f"  {pluralize(len(plan.left_over), 'submission')} left for the next run")
    for each in plan.waiting:
        typer.echo(f"  waits for a rescore: {each.submission} on {each.suite}: {_words(each)}")
    if plan.unchecked:
        typer.echo(f"  not compared, because the evidence is not available: {pluralize(plan.unchecked, 'file')}")
    if plan.held:
        typer.echo(f"  held until the final phase ends: {', '.join(sorted(plan.held))}")
    for slug, problems in plan.broken.items():
        typer.echo(f"  not scored: {printable(slug)}: {printable(problems[0].message) if problems else ''}")
    _print_unavailable(plan.unavailable)


def _print_unavailable(unavailable: Mapping[str, str]) -> None:
    for name, reason in unavailable.items():
        typer.echo(f"  suite {name} is left out: {printable(reason)}")


def _words(work: PendingWork) -> str:
    return printable("; ".join(work.words) or "nothing")


def print_judged(judged: PublishResult, digest: str) -> None:
    """Print the number of verdicts for each judged submission, and the reasons for missing verdicts.

    `digest` is the SHA-256 of the archive of verdicts and evidence, and is printed last.
    """
    from evaluator.pipeline.publishing.summaries import audit_lines, judged_words

    typer.echo(f"judged: {judged_words(judged)}")
    for row in judged.rows:
        became = row.left or ("a new file" if row.written else "as it stands")
        typer.echo(f"  {row.work.submission} on {row.work.suite}: {pluralize(row.given, 'verdict')}; {became}")
        for reason, count in row.missing.items():
            typer.echo(f"    infra-error, {pluralize(count, 'command')}: {printable(reason)}")
        for problem in row.work.edited:
            typer.echo(f"    restored: {problem.path.name}:{problem.line}: {printable(problem.message)}")
    for slug, faults in judged.faults.items():
        for fault in faults:
            typer.echo(f"  refused, of {printable(slug)}: {printable(fault)}")
    _print_unavailable(judged.unavailable)
    if judged.panel:
        typer.echo(f"  {printable(judged.panel)}")
    for line in audit_lines(judged.audit):
        typer.echo(f"  {printable(line)}")
    typer.echo(f"SHA-256 {digest}")


def print_verified(found: Sequence[VerifiedFile], shown: Callable[[Path], Path]) -> None:
    """Print the path and line of each published verdict that differs from the verdict derived from its evidence.

    Then summarise each verdict file in one line.
    """

    for each in found:
        for problem in each.problems:
            typer.echo(f"{shown(problem.path)}:{problem.line}: {printable(problem.message)}")
    for each in found:
        told = [pluralize(each.held, "verdict") + " follow from their evidence"]
        told += [f"{len(each.problems)} do not"] if each.problems else []
        told += [f"{each.awaiting} await a verdict"] if each.awaiting else []
        told += [f"{each.unknown} cannot be verified"] if each.unknown else []
        told += [printable(each.why)] if each.why else []
        typer.echo(f"{each.submission} on {each.suite}: {'; '.join(told)}")
