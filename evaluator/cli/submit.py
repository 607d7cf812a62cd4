"""Commands for contributors: create a submission folder, print prompts for a model, collect the model's replies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from evaluator.cli.app import FOUND_WANTING, Group, SuiteName, current_project, example, shown

submit = typer.Typer(
    cls=Group,
    help="Prepare a submission: create its folder, print prompts, collect replies.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Slug = Annotated[str, typer.Argument(help="The name of the folder in submissions/.")]
MethodName = Literal["prompted", "fine-tuned", "agent", "retrieval", "rules", "other"]
FormatName = Literal["jsonl", "openai-batch"]


@example(
    "bashboard submit init my-system",
    "bashboard submit init my-system --author 'Our group' --method fine-tuned",
)
def init(
    slug: Slug,
    suite: Annotated[
        list[str] | None, typer.Option("--suite", help="A suite to answer. May be repeated. The default is core.")
    ] = None,
    system: Annotated[str | None, typer.Option("--system", help="The name and version of the system.")] = None,
    author: Annotated[str | None, typer.Option("--author", help="The author of the submission.")] = None,
    method: Annotated[MethodName, typer.Option("--method", help="How the system produces its commands.")] = "prompted",
) -> None:
    """Create the folder of a submission.

    It contains a manifest to fill in, and one line for every task with its instruction.
    """
    from evaluator.pipeline.submissions.create import init_submission
    from evaluator.records import Method

    project = current_project()
    for path in init_submission(project, slug, suite or ["core"], system=system, author=author, method=Method(method)):
        typer.echo(shown(path))
    typer.echo(f"fill them in, then: bashboard check submissions/{slug}", err=True)


@example(
    "bashboard submit prompts > prompts.jsonl",
    "bashboard submit prompts --format openai-batch --model a-model > batch.jsonl",
    "bashboard submit prompts | head -n 1 | jq -r '.messages[].content'",
)
def prompts(
    suite: SuiteName = "core",
    form: Annotated[FormatName, typer.Option("--format", help="Plain lines, or the requests of a batch.")] = "jsonl",
    model: Annotated[
        str | None, typer.Option("--model", help="The model of the batch, by the server's name for it.")
    ] = None,
) -> None:
    """Print one prompt for each task, for any model.

    A prompt contains only the instruction and a description of the machine.
    """
    from evaluator.pipeline.submissions.create import suite_prompts

    for line in suite_prompts(current_project(), suite, batch=form == "openai-batch", model=model):
        typer.echo(line)


@example("bashboard submit collect my-system batch_output.jsonl")
def collect(
    slug: Slug,
    replies: Annotated[Path, typer.Argument(help="The results of a batch, as the server wrote them.")],
    suite: SuiteName = "core",
) -> None:
    """Write a submission's predictions from the results of a batch.

    The task of a failed request stays unanswered.
    """
    from evaluator.pipeline.submissions.create import collect_replies

    path, answered, failed = collect_replies(current_project(), slug, suite, replies)
    typer.echo(f"{shown(path)}: {answered} answered")
    if failed:
        typer.echo(f"{len(failed)} requests failed and leave their tasks unanswered: {', '.join(failed)}", err=True)
        raise typer.Exit(FOUND_WANTING)


for command in (init, prompts, collect):
    submit.command(epilog=command.__dict__.get("epilog"))(command)
