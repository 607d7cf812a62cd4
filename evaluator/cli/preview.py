"""`bashboard preview`: what a submission would come to on the board, as its pull request shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evaluator.cli.app import FOUND_WANTING, AsJson, Judge, SuiteName, Workers, console, example, here
from evaluator.cli.progress import shown_progress

Slug = Annotated[str, typer.Argument(metavar="SLUG", help="The submission.", show_default=False)]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print the Markdown of a pull request's comment.")]
Out = Annotated[Path | None, typer.Option("--out", help="Write to this file instead.")]


@example(
    "bashboard preview my-system",
    "bashboard preview my-system --json --out preview.json",
    "bashboard preview my-system --markdown",
)
def preview(
    slug: Slug,
    suite: SuiteName = "core",
    judge: Judge = None,
    workers: Workers = None,
    as_json: AsJson = False,
    markdown: AsMarkdown = False,
    out: Out = None,
) -> None:
    """Show what a submission would come to if it were merged, or what is to be mended in it first.

    Shown are its accuracy, the rank it would take, how it stands by topic beside the leader and the nearest
    neighbours, the tasks it gains and misses, collateral damage, what is undecided, and what happens next. What has
    no evidence yet is executed. JSON there is only of a submission without errors.
    """
    from evaluator.errors import UsageError
    from evaluator.pipeline.boards.preview import preview_submission

    if as_json and markdown:
        raise UsageError("--json and --markdown: expected one of them")
    with shown_progress() as progress:
        made = preview_submission(here(), progress, slug, suite=suite, judge=judge, workers=workers)
    found, text = made.preview, made.markdown
    if as_json:
        for problem in made.problems:
            typer.echo(str(problem), err=True)
        text = f"{found.model_dump_json()}\n" if found else ""
    if out and text:
        _write(out, text)
    elif not out:
        _print(text, plain=as_json or markdown)
    if found is None:
        raise typer.Exit(FOUND_WANTING)
    if found.infra_errors:
        ours = f"{found.infra_errors} results are infra-errors, which are ours"
        typer.echo(f"bashboard: {ours}; run the same again", err=True)
        raise typer.Exit(3)


def _write(path: Path, text: str) -> None:
    from evaluator.errors import UsageError
    from evaluator.writing import write_whole

    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise UsageError(f"--out {path}: {error.strerror}") from error


def _print(text: str, *, plain: bool) -> None:
    """As it is, or drawn for people."""
    if plain:
        typer.echo(text, nl=False)
        return
    from rich.markdown import Markdown

    console().print(Markdown(text))
