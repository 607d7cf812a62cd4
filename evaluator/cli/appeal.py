"""`bashboard appeal`: answer the appeal in an issue. The answer is a pull request with a maintainer's ruling."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from evaluator.cli.adjudication import ruling_named
from evaluator.cli.app import PROBLEMS_FOUND, current_project, example


@example("bashboard appeal --issue=12 --ruling pass", "bashboard appeal --issue=12 --ruling fail --dry-run")
def appeal(
    issue: Annotated[int, typer.Option("--issue", min=1, help="The number of the issue.")],
    ruling: Annotated[str, typer.Option("--ruling", metavar="RULING", help="pass or fail.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the proposal and write nothing.")] = False,
) -> None:
    """Answer an appeal with a pull request.

    The pull request has a maintainer's ruling on the command that the issue names. The issue must come from the appeal
    form. Its text becomes the reason of one line in adjudications.jsonl, which the pull request adds. When the pull
    request is merged, the ruling applies to every submission with that command. If the issue is incomplete, a comment
    there says what is missing. The repository is GITHUB_REPOSITORY, and the token is GITHUB_TOKEN.
    """
    from evaluator.github.connection import github_connection
    from evaluator.pipeline.pull_requests.appeals import answer_appeal

    answer = answer_appeal(
        current_project(), github_connection(os.environ), issue, ruling_named(ruling), dry_run=dry_run
    )
    if answer.ruled is None:
        typer.echo(answer.comment)
        raise typer.Exit(PROBLEMS_FOUND)
    if answer.ruled.proposal is None:
        typer.echo(f"{answer.ruled.title}\n\n{answer.ruled.body}\n{answer.ruled.adjudicated.adjudication.to_json()}")
        return
    typer.echo(f"#{answer.ruled.proposal.number} {answer.ruled.proposal.written.value}: {answer.ruled.proposal.url}")
