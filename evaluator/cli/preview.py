"""`bashboard preview`: show the place that a submission would have on the board. Pull requests get the same text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import PROBLEMS_FOUND, AsJson, Judge, Workers, console, current_project, example, warn
from evaluator.cli.completion import complete_submissions, complete_suites
from evaluator.cli.progress import shown_progress
from evaluator.cli.text_output import json_output
from evaluator.escaping import printable

if TYPE_CHECKING:
    from evaluator.pipeline.boards.preview_board import PreviewResult
    from evaluator.pipeline.project import Project

Slug = Annotated[
    str | None,
    typer.Argument(
        metavar="SLUG", autocompletion=complete_submissions, help="The slug of the submission.", show_default=False
    ),
]
Since = Annotated[
    str | None, typer.Option("--since", metavar="COMMIT", help="The one submission that differs from this commit.")
]
SuiteChoice = Annotated[
    str | None,
    typer.Option(
        "--suite",
        metavar="SUITE",
        autocompletion=complete_suites,
        help="The suite. The default is core if the submission answers several.",
    ),
]
Summary = Annotated[bool, typer.Option("--summary", help="Also append the comment to the summary of the GitHub job.")]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown, as in the comment on the pull request.")]
Published = Annotated[
    bool, typer.Option("--published", help="Compare with the published rows. No other submission is executed.")
]
Out = Annotated[Path | None, typer.Option("--out", help="Write to this file instead of standard output.")]


@example(
    "bashboard preview my-system",
    "bashboard preview my-system --json --out preview.json",
    "bashboard preview my-system --markdown",
    "bashboard preview --since origin/main",
)
def preview(
    slug: Slug = None,
    since: Since = None,
    suite: SuiteChoice = None,
    judge: Judge = None,
    workers: Workers = None,
    published: Published = False,
    as_json: AsJson = False,
    markdown: AsMarkdown = False,
    out: Out = None,
    summary: Summary = False,
) -> None:
    """Show the place that a submission would get.

    If the submission has errors, shows what to fix first. Otherwise, shows its accuracy, its rank, its results by topic
    beside the leader and the nearest neighbours, the tasks that it gains and misses, collateral damage, undecided
    verdicts, and what happens next. Executes commands without evidence. Prints no JSON for a submission with errors.
    """
    from evaluator.errors import UsageError
    from evaluator.github.job_output import append_summary
    from evaluator.pipeline.boards.preview_board import preview_submission

    if as_json and markdown:
        raise UsageError("--json and --markdown: expected one of them")
    if (slug is None) == (since is None):
        raise UsageError("expected a submission's slug, or --since and the commit that it differs from")
    project = current_project()
    chosen = slug or _changed(project, str(since))
    if chosen is None:
        return
    with shown_progress() as progress:
        made = preview_submission(
            project, progress, chosen, suite=suite, judge=judge, workers=workers, published=published, say=warn
        )
    _show(made, as_json=as_json, markdown=markdown, out=out)
    if summary:
        append_summary(os.environ, made.markdown)
    found = made.preview
    if made.held:
        return
    if found is None:
        raise typer.Exit(PROBLEMS_FOUND)
    if found.infra_errors:
        ours = f"{found.infra_errors} results are infra-errors, which are ours"
        typer.echo(f"bashboard: {ours}; run the same command again", err=True)
        raise typer.Exit(3)


def _show(made: PreviewResult, *, as_json: bool, markdown: bool, out: Path | None) -> None:
    found, text = made.preview, made.markdown
    if as_json:
        for problem in made.problems:
            typer.echo(
                str(problem), err=True
            )  # begins with a path of ours, so the runner cannot read it as a workflow command
        text = f"{found.model_dump_json()}\n" if found else ""
    if out and text:
        _write(out, text)
    elif not out:
        _print(json_output(text) if as_json else text, plain=as_json or markdown)


def _changed(project: Project, since: str) -> str | None:
    """Return the slug of the only submission whose files were changed since the commit `since`.

    If no submission changed, print a message and return None. Raises UsageError if several submissions changed.
    """
    from evaluator.errors import UsageError
    from evaluator.pipeline.submissions.repository import changed_submissions

    found = [folder.name for folder in changed_submissions(project, since).there]
    if len(found) > 1:
        listed = ", ".join(map(printable, found))
        raise UsageError(f"{len(found)} submissions differ: {listed}; a pull request is for one: open one for each")
    if not found:
        typer.echo(f"no submission here differs from {printable(since)}: there is nothing to preview", err=True)
    return found[0] if found else None


def _write(path: Path, text: str) -> None:
    from evaluator.errors import UsageError
    from evaluator.files import write_whole

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
    except OSError as error:
        raise UsageError(f"--out {path}: {error.strerror}") from error


def _print(text: str, *, plain: bool) -> None:
    """Print Markdown text. Render it for the terminal unless `plain` is true."""
    if plain:
        typer.echo(text, nl=False)
        return
    from rich.markdown import Markdown

    console().print(Markdown(text))
