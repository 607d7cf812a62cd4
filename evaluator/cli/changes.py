"""`bashboard publish changes`: what becomes of the board when published verdicts change."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from evaluator.cli.app import AsJson, console, example, here, print_json
from evaluator.cli.board import SuiteNames

Against = Annotated[str, typer.Option("--against", metavar="COMMIT", help="Since this commit of the checkout.")]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print the Markdown of a pull request's body.")]


@example(
    "bashboard publish changes",
    "bashboard publish changes --against origin/main --markdown",
    "bashboard publish changes --against HEAD^1 --json | jq '.suites[].kinds'",
)
def changes(
    against: Against = "HEAD", suite: SuiteNames = None, markdown: AsMarkdown = False, as_json: AsJson = False
) -> None:
    """Show before and after of the published verdicts: who moves, by how much, which verdicts flip and why.

    Before is as the verdict files stand at a commit, after is as they stand here. The submissions are those that stand
    here, both times.
    """
    from evaluator.cli.changes_tables import changes_tables
    from evaluator.errors import UsageError
    from evaluator.pipeline.job import inert
    from evaluator.pipeline.publishing.changes import changes_markdown, changes_since

    if as_json and markdown:
        raise UsageError("--json and --markdown: expected one of them")
    found = changes_since(here(), against, suite or ())
    with inert(os.environ, sys.stdout):  # a command may begin like one to GitHub's runner
        if as_json:
            print_json(found.model_dump(mode="json"))
        elif markdown:
            typer.echo(changes_markdown(found), nl=False)
        else:
            console().print(changes_tables(found))
