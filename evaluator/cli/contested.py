"""`bashboard contested`: the published verdicts that wait for a maintainer's ruling."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from evaluator.cli.app import AsJson, console, example, here, print_records
from evaluator.cli.board import SuiteNames
from evaluator.cli.changes import AsMarkdown

Summary = Annotated[bool, typer.Option("--summary", help="Also append the Markdown to a GitHub job's summary.")]


@example("bashboard contested", "bashboard contested --suite core --json | jq '.[].adjudicate'")
def contested(
    suite: SuiteNames = None, markdown: AsMarkdown = False, summary: Summary = False, as_json: AsJson = False
) -> None:
    """List every published verdict that is undecided: what was asked and given, why it is open, and what to type.

    Those by which most rows may move come first. A ruling holds for everyone who gave the command.
    """
    from evaluator.cli.changes_tables import contested_list
    from evaluator.errors import UsageError
    from evaluator.pipeline.job import inert, summarise
    from evaluator.pipeline.publishing.contested import contested_markdown, contested_verdicts

    if as_json and markdown:
        raise UsageError("--json and --markdown: expected one of them")
    found = contested_verdicts(here(), suite or (), os.environ)
    if summary:
        summarise(os.environ, contested_markdown(found))
    with inert(os.environ, sys.stdout):  # a command may begin like one to GitHub's runner
        if as_json:
            print_records(found)
        elif markdown:
            typer.echo(contested_markdown(found), nl=False)
        else:
            console().print(contested_list(found))
