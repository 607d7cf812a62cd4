"""`bashboard report`: answer the pull request that a run was for, with labels and one comment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import AsJson, example, here, print_json

if TYPE_CHECKING:
    from evaluator.pipeline.pulls.report import Reported

Run = Annotated[int | None, typer.Option("--run", min=1, help="The run of the submission workflow.")]
Pushed = Annotated[
    int | None,
    typer.Option("--pushed", min=1, metavar="PULL", help="Only take back what clears the way to its merge."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be said, and write nothing.")]


@example(
    "bashboard report --run 123456789",
    "bashboard report --run 123456789 --dry-run",
    "bashboard report --run 123456789 --dry-run --json",
    "bashboard report --pushed 17",
)
def report(run: Run = None, pushed: Pushed = None, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Say on a pull request what its submission comes to, what is to be mended, or why it is held.

    The pull request's files are read as data and checked by this checkout's own code; nothing of it is executed. The
    preview's numbers come from the run's artifact. Labels tell the state. The repository and the token come from
    GITHUB_REPOSITORY and GITHUB_TOKEN; in a job the comment also becomes the job's summary. Done twice it writes once.
    While the run is under way, and with --pushed, it only takes back the labels that clear the way to a merge.
    """
    from dataclasses import asdict

    from evaluator.errors import UsageError
    from evaluator.pipeline.job import summarise
    from evaluator.pipeline.pulls.report import recall_from, report_from

    if run is not None and pushed is None:
        made = report_from(here(), os.environ, run, dry_run=dry_run)
    elif pushed is not None and run is None:
        made = recall_from(os.environ, pushed, dry_run=dry_run)
    else:
        raise UsageError("expected --run and the run's number, or --pushed and the pull request's")
    if made.text and os.environ.get("GITHUB_STEP_SUMMARY"):
        summarise(os.environ, made.text)
    if as_json:
        print_json(asdict(made))
        return
    typer.echo(_line(made), err=dry_run)
    if dry_run and made.text:
        _print_inert(made.text)


def _line(made: Reported) -> str:
    """What was done, of our own words and numbers alone."""
    number = f"pull request {made.number}" if made.number else f"run {made.run}"
    done = [
        made.outcome.value,
        *([f"labels {', '.join(made.labels)}"] if made.labels else []),
        *([f"added {', '.join(made.added)}"] if made.added else []),
        *([f"removed {', '.join(made.removed)}"] if made.removed else []),
        *([f"comment {made.written.value}: {made.url}"] if made.written else []),
    ]
    return f"{number}: {'; '.join(done)}"


def _print_inert(text: str) -> None:
    """The comment, in which a job's runner takes no line of a stranger's for a command."""
    import sys

    from evaluator.pipeline.job import inert

    with inert(os.environ, sys.stdout):
        typer.echo(text, nl=False)
