"""Commands for people who submit: a folder to fill in, prompts for any model, and predictions from its replies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from evaluator.cli.app import FOUND_WANTING, Group, SuiteName, example, here, shown

submit = typer.Typer(
    cls=Group,
    help="Make a submission: its folder, prompts for a model, predictions from its replies.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Slug = Annotated[str, typer.Argument(help="The submission's folder below submissions/.")]
MethodName = Literal["prompted", "fine-tuned", "agent", "retrieval", "rules", "other"]
FormatName = Literal["jsonl", "openai-batch"]


@example(
    "bashboard submit init my-system",
    "bashboard submit init my-system --author 'Our group' --method fine-tuned",
)
def init(
    slug: Slug,
    suite: Annotated[list[str] | None, typer.Option("--suite", help="May be repeated; core by default.")] = None,
    system: Annotated[str | None, typer.Option("--system", help="The system's name and version.")] = None,
    author: Annotated[str | None, typer.Option("--author", help="Who answers for it.")] = None,
    method: Annotated[MethodName, typer.Option("--method", help="How it makes its commands.")] = "prompted",
) -> None:
    """Write a submission's folder to fill in: who and what, and a line for every task with its instruction."""
    from evaluator.pipeline.submitting.submit import init_submission
    from evaluator.records import Method

    project = here()
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
    form: Annotated[FormatName, typer.Option("--format", help="Plain lines, or a batch's requests.")] = "jsonl",
    model: Annotated[str | None, typer.Option("--model", help="The batch's model, as its server calls it.")] = None,
) -> None:
    """Print a prompt a task, so that any model can be run on a suite: the instruction and the machine, no more."""
    from evaluator.pipeline.submitting.submit import suite_prompts

    for line in suite_prompts(here(), suite, batch=form == "openai-batch", model=model):
        typer.echo(line)


@example("bashboard submit collect my-system batch_output.jsonl")
def collect(
    slug: Slug,
    replies: Annotated[Path, typer.Argument(help="A batch's results, as its server wrote them.")],
    suite: SuiteName = "core",
) -> None:
    """Write a submission's predictions from a batch's results. A request that failed leaves its task unanswered."""
    from evaluator.pipeline.submitting.submit import collect_replies

    path, answered, failed = collect_replies(here(), slug, suite, replies)
    typer.echo(f"{shown(path)}: {answered} answered")
    if failed:
        typer.echo(f"{len(failed)} requests failed and leave their tasks unanswered: {', '.join(failed)}", err=True)
        raise typer.Exit(FOUND_WANTING)


for command in (init, prompts, collect):
    submit.command(epilog=command.__dict__.get("epilog"))(command)
