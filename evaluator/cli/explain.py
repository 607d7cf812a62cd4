"""`bashboard explain`: show why a submission's answer to a task got its verdict."""

from __future__ import annotations

from typing import Annotated

import typer

from evaluator.cli.app import (
    AsJson,
    Judge,
    Slug,
    SuiteName,
    console,
    current_project,
    example,
    print_json,
    print_records,
    warn,
)
from evaluator.cli.completion import complete_tasks
from evaluator.cli.progress import shown_progress


@example(
    "bashboard explain tfidf-retrieval files-003",
    "bashboard explain rules text-002 --rank 2 --all",
    "bashboard explain rules",
)
def explain(
    submission: Slug,
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK",
            autocompletion=complete_tasks,
            help="The task. Without it, list what did not pass.",
        ),
    ] = None,
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
    Without a task, it executes nothing, and lists the tasks whose first candidate did not pass, with the reasons.
    """
    from evaluator.cli.evidence_view import explanation_text
    from evaluator.pipeline.boards.explain import explain_answer

    if task is None:
        _list_failed(submission, suite, judge, as_json=as_json)
        return
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


def _list_failed(submission: str, suite: str, judge: str | None, *, as_json: bool) -> None:
    from evaluator.escaping import printable
    from evaluator.pipeline.boards.explain import failed_results
    from evaluator.progress import NullProgress
    from evaluator.records import Outcome
    from evaluator.wording import pluralize

    failed = failed_results(current_project(), NullProgress(), suite=suite, submission=submission, judge=judge)
    if as_json:
        print_records(failed)
        return
    judged = [result for result in failed if result.finding.outcome is not Outcome.INFRA_ERROR]
    for result in judged:
        typer.echo(f"{result.task:18} {result.finding.outcome.value:10} {printable(result.finding.reason)}")
    if len(judged) < len(failed):
        missing = pluralize(len(failed) - len(judged), "answer has", "answers have")
        warn(f"{missing} no verdict on this machine; run: bashboard score {submission} --suite {suite}")
    if judged:
        typer.echo(f"see one with: bashboard explain {submission} {judged[0].task} --suite {suite}", err=True)
