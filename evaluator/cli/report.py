"""`bashboard report`: answer a pull request with labels and one comment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import AsJson, current_project, example, print_json

if TYPE_CHECKING:
    from evaluator.pipeline.pull_requests.report import Report

Run = Annotated[int | None, typer.Option("--run", min=1, help="The id of a run of the submission workflow.")]
Pushed = Annotated[
    int | None,
    typer.Option(
        "--pushed", min=1, metavar="N", help="Only remove the labels that allow the merge of this pull request."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the comment and write nothing.")]


@example(
    "bashboard report --run 123456789",
    "bashboard report --run 123456789 --dry-run",
    "bashboard report --run 123456789 --dry-run --json",
    "bashboard report --pushed 17",
)
def report(run: Run = None, pushed: Pushed = None, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Label a pull request and comment on it.

    The comment shows where the submission would stand, what to fix, or why the pull request is held. Reads the files of
    the pull request as data, checks them with the code of this checkout, and executes nothing. The numbers of the
    preview come from the artifact of the run. Labels show the state. While the run is in progress, and with --pushed,
    the command only removes the labels that allow a merge. The repository is GITHUB_REPOSITORY, and the token is
    GITHUB_TOKEN. In a GitHub job the comment is also the job's summary. Running the command again writes no second
    comment.
    """
    from dataclasses import asdict

    from evaluator.errors import UsageError
    from evaluator.github.job_output import append_summary
    from evaluator.pipeline.pull_requests.report import recall_from, report_from

    if run is not None and pushed is None:
        made = report_from(current_project(), os.environ, run, dry_run=dry_run)
    elif pushed is not None and run is None:
        made = recall_from(os.environ, pushed, dry_run=dry_run)
    else:
        raise UsageError("expected --run and the run's number, or --pushed and the pull request's")
    if made.text and os.environ.get("GITHUB_STEP_SUMMARY"):
        append_summary(os.environ, made.text)
    if as_json:
        print_json(asdict(made))
        return
    typer.echo(_line(made), err=dry_run)
    if dry_run and made.text:
        _print_inert(made.text)


def _line(made: Report) -> str:
    """Return one line without untrusted text: the outcome, the labels, and the address of the report's comment."""
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
    """Print the text of a comment so that the runner of a GitHub job ignores workflow commands in this text."""
    import sys

    from evaluator.github.job_output import stop_commands

    with stop_commands(os.environ, sys.stdout):
        typer.echo(text, nl=False)
