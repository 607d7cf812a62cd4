"""`bashboard explain`: show why a submission's answer to a task got its verdict."""

from __future__ import annotations

from typing import Annotated

import typer

from evaluator.cli.app import (
    AsJson,
    Judge,
    Slug,
    SuiteName,
    TaskArgument,
    console,
    current_project,
    example,
    print_json,
)
from evaluator.cli.progress import shown_progress


@example("bashboard explain tfidf-retrieval files-003", "bashboard explain rules text-002 --rank 2 --all")
def explain(
    submission: Slug,
    task: TaskArgument,
    suite: SuiteName = "core",
    rank: Annotated[int, typer.Option("--rank", min=1, help="The number of the candidate.")] = 1,
    all_variants: Annotated[
        bool, typer.Option("--all", help="Execute and show every variant, not only the one that decided.")
    ] = False,
    judge: Judge = None,
    as_json: AsJson = False,
) -> None:
    """Show why an answer got its verdict.

    Shows the candidate and the references side by side, and the step that decided. Executes commands without evidence.
    """
    from evaluator.cli.evidence_view import explanation_text
    from evaluator.pipeline.boards.explain import explain_answer

    with shown_progress() as progress:
        found = explain_answer(
            current_project(),
            progress,
            suite=suite,
            submission=submission,
            task=task,
            rank=rank,
            judge=judge,
            everywhere=all_variants,
        )
    if as_json:
        print_json(found.as_json())
        return
    names = found.variants
    chosen = names if all_variants or found.finding.variant not in names else [found.finding.variant]
    console().print(explanation_text(found, chosen[: None if all_variants else 1]))
    if not all_variants and len(names) > 1:
        typer.echo(f"variants: {', '.join(names)}; see all of them with --all")
