"""`bashboard appeal`: an issue that appeals against a verdict becomes a pull request with a maintainer's ruling."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from evaluator.cli.adjudication import ruling_named
from evaluator.cli.app import FOUND_WANTING, example, here


@example("bashboard appeal --issue=12 --ruling pass", "bashboard appeal --issue=12 --ruling fail --dry-run")
def appeal(
    issue: Annotated[int, typer.Option("--issue", min=1, help="The number of the issue.")],
    ruling: Annotated[str, typer.Option("--ruling", help="pass or fail.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be proposed, and write nothing.")] = False,
) -> None:
    """Propose a ruling on the command that an issue names, and answer the issue.

    The issue is one that the appeal form wrote. Its words become the reason of one line in adjudications.jsonl, which a
    pull request adds; merging that puts it in force for everyone who gave the command. What is missing in the issue is
    said in a comment there. GITHUB_REPOSITORY and GITHUB_TOKEN say which repository, and by whose leave.
    """
    from evaluator.pipeline.pulls.appeals import answer_appeal
    from evaluator.pipeline.repository import repository_of

    answer = answer_appeal(here(), repository_of(os.environ), issue, ruling_named(ruling), dry_run=dry_run)
    if answer.ruled is None:
        typer.echo(answer.comment)
        raise typer.Exit(FOUND_WANTING)
    if answer.ruled.proposal is None:
        typer.echo(f"{answer.ruled.title}\n\n{answer.ruled.body}\n{answer.ruled.adjudicated.adjudication.to_json()}")
        return
    typer.echo(f"#{answer.ruled.proposal.number} {answer.ruled.proposal.written.value}: {answer.ruled.proposal.url}")
