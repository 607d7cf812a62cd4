"""`bashboard contested`: list the published verdicts that need a maintainer's ruling."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from evaluator.cli.app import AsJson, SuiteNames, console, current_project, example, print_records
from evaluator.cli.changes import AsMarkdown

Summary = Annotated[bool, typer.Option("--summary", help="Also append the Markdown to a GitHub job's summary.")]


@example("bashboard contested", "bashboard contested --suite core --json | jq '.[].adjudicate'")
def contested(
    suite: SuiteNames = None, markdown: AsMarkdown = False, summary: Summary = False, as_json: AsJson = False
) -> None:
    """List undecided published verdicts.

    Each has its reason and the commands to run. The verdicts that affect most rows come first. A ruling applies to
    every submission with that command.
    """
    from evaluator.cli.changes_tables import contested_list
    from evaluator.errors import UsageError
    from evaluator.github.job_output import append_summary, stop_commands
    from evaluator.pipeline.publishing.contested_verdicts import contested_markdown, contested_verdicts

    if as_json and markdown:
        raise UsageError("--json and --markdown: expected one of them")
    found = contested_verdicts(current_project(), suite or (), os.environ)
    if summary:
        append_summary(os.environ, contested_markdown(found))
    with stop_commands(
        os.environ, sys.stdout
    ):  # a predicted command may look like a workflow command of GitHub's runner
        if as_json:
            print_records(found)
        elif markdown:
            typer.echo(contested_markdown(found), nl=False)
        else:
            console().print(contested_list(found))
