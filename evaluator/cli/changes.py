"""`bashboard publish changes`: show how changed verdicts affect the published board."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from evaluator.cli.app import AsJson, SuiteNames, console, current_project, example, print_json

Against = Annotated[str, typer.Option("--against", metavar="COMMIT", help="The commit to compare with.")]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown, as in the body of a pull request.")]


@example(
    "bashboard publish changes",
    "bashboard publish changes --against origin/main --markdown",
    "bashboard publish changes --against HEAD^1 --json | jq '.suites[].kinds'",
)
def changes(
    against: Against = "HEAD", suite: SuiteNames = None, markdown: AsMarkdown = False, as_json: AsJson = False
) -> None:
    """Show the effect of changed verdicts.

    Shows the effect on the published board: the rows that move, and the verdicts that flip, with the reasons. Compares
    the verdict files at a commit with those in this checkout. In both cases the submissions are those of this checkout.
    """
    from evaluator.cli.changes_tables import changes_tables
    from evaluator.errors import UsageError
    from evaluator.github.job_output import stop_commands
    from evaluator.pipeline.publishing.diff_verdicts import changes_markdown, changes_since

    if as_json and markdown:
        raise UsageError("--json and --markdown: expected one of them")
    found = changes_since(current_project(), against, suite or ())
    with stop_commands(
        os.environ, sys.stdout
    ):  # a predicted command may look like a workflow command of GitHub's runner
        if as_json:
            print_json(found.model_dump(mode="json"))
        elif markdown:
            typer.echo(changes_markdown(found), nl=False)
        else:
            console().print(changes_tables(found))
