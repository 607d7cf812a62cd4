"""`bashboard quarantine`: take a hostile submission off the board, and replace evidence that it may have changed."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import AsJson, Slug, Workers, current_project, example, print_json, shown
from evaluator.cli.progress import shown_progress
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.pipeline.maintenance.quarantine import QuarantinePlan


@example(
    "bashboard quarantine my-system --dry-run",
    "bashboard quarantine my-system",
    "bashboard quarantine my-system --dry-run --json | jq '.touched[].task'",
    "bashboard quarantine my-system --lift",
)
def quarantine(
    slug: Slug,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be removed and made again.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    lift: Annotated[
        bool, typer.Option("--lift", help="End the quarantine: the submission may be scored again.")
    ] = False,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Take a hostile submission off the board.

    Then make again the evidence that it may have changed. Lists the submission in submissions/quarantine.json, which
    keeps it off every board. Removes its verdict files, its evidence, and the evidence that ran later on its workers or
    at the same time on other workers. Evidence of unknown origin counts as such. Then executes the commands of the
    references and of other submissions again. The files of the submission stay. If this is interrupted, run it again.
    """
    from evaluator.pipeline.maintenance.quarantine import make_again, open_quarantine

    if lift:
        _lift(slug, dry_run)
        return
    project = current_project()
    with open_quarantine(project, slug) as case:
        plan = case.plan
        if as_json and dry_run:
            print_json({**plan.as_json(), "dry_run": True})
        elif not as_json:
            _print_plan(plan)
        if dry_run:
            return
        _confirm(slug, yes)
        case.take_out()
    with shown_progress() as progress:
        made = make_again(project, progress, workers)
    if as_json:
        print_json({**plan.as_json(), "dry_run": False, "made_again": made.runs, "missing": made.missing})
    else:
        typer.echo(f"{slug} is in quarantine; made again: {pluralize(made.runs, 'run')}")
    if made.missing:
        lacking = pluralize(made.missing, "run")
        typer.echo(f"bashboard: {lacking} could not be made because of a failure of ours; run this again", err=True)
        raise typer.Exit(3)


def _lift(slug: str, dry_run: bool) -> None:
    from evaluator.errors import UsageError
    from evaluator.pipeline.maintenance.quarantine import lift_quarantine

    if dry_run:
        raise UsageError("--lift and --dry-run: expected only one of them")
    lift_quarantine(current_project(), slug)
    typer.echo(f"{slug} is no longer in quarantine; score it with: bashboard score {slug}")


def _confirm(slug: str, yes: bool) -> None:
    """Ask the user to confirm the quarantine of a submission unless `yes` is true. Exit if the answer is no."""
    from evaluator.errors import UsageError

    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{slug} was not changed: standard input is no terminal, so confirm with --yes")
    if not typer.confirm(f"Take {slug} out, and make the other runs again?", err=True):
        typer.echo("nothing was changed")
        raise typer.Exit(1)


def _print_plan(plan: QuarantinePlan) -> None:
    typer.echo(f"{plan.slug}: remove {pluralize(len(plan.own), 'run')} that no other submission needs")
    for path in plan.files:
        typer.echo(f"  remove {shown(path)}")
    typer.echo(f"remove {pluralize(len(plan.touched), 'other run')}, and make again those that a command needs")
    reasons = Counter(touched.reason for touched in plan.touched)
    for reason, count in reasons.items():
        typer.echo(f"  {count:6} {reason.value}")
    for (suite, owner), count in sorted(plan.by_owner.items()):
        typer.echo(f"  {count:6} of {suite}: {owner}")
    if unneeded := sum(touched.needed_by is None for touched in plan.touched):
        typer.echo(f"  {unneeded:6} of no command of this checkout")
    if plan.unfinished:
        typer.echo(f"an earlier quarantine left {pluralize(plan.unfinished, 'command')} to make again")
