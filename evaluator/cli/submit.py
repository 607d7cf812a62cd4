"""Commands for contributors: create a submission folder, print prompts for a model, collect the model's replies."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from evaluator.cli.app import (
    PROBLEMS_FOUND,
    AsJson,
    Group,
    SuiteName,
    add_commands,
    current_project,
    example,
    print_json,
    shown,
)
from evaluator.cli.completion import complete_submissions, complete_suites
from evaluator.cli.text_output import json_output

submit = typer.Typer(
    cls=Group,
    help="Create a submission and collect replies.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Slug = Annotated[
    str,
    typer.Argument(metavar="SLUG", autocompletion=complete_submissions, help="The name of the folder in submissions/."),
]
MethodName = Literal["prompted", "fine-tuned", "agent", "retrieval", "rules", "other"]
FormatName = Literal["jsonl", "openai-batch"]


@example(
    "bashboard submit init my-system",
    "bashboard submit init my-system --author 'Our group' --method fine-tuned",
)
def init(
    slug: Slug,
    suite: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            metavar="SUITE",
            autocompletion=complete_suites,
            help="A suite to answer. May be repeated. The default is core.",
        ),
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", metavar="TEXT", help="The name and version of the system.")
    ] = None,
    author: Annotated[
        str | None, typer.Option("--author", metavar="TEXT", help="The author of the submission.")
    ] = None,
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
    "bashboard submit prompts --edition autumn > prompts.jsonl",
    "bashboard submit prompts | head -n 1 | jq -r '.messages[].content'",
)
def prompts(
    suite: SuiteName = "core",
    form: Annotated[FormatName, typer.Option("--format", help="Plain lines, or the requests of a batch.")] = "jsonl",
    model: Annotated[
        str | None, typer.Option("--model", help="The model of the batch, by the server's name for it.")
    ] = None,
    edition: Annotated[
        str | None, typer.Option("--edition", metavar="EDITION", help="Print the prompts of this edition of the suite.")
    ] = None,
) -> None:
    """Print one prompt for each task.

    The prompts are for any model. A prompt contains only the instruction and a description of the machine.
    """
    from evaluator.pipeline.submissions.create import suite_prompts

    for line in suite_prompts(current_project(), suite, edition, batch=form == "openai-batch", model=model):
        typer.echo(json_output(line))


@example(
    "bashboard submit collect my-system batch_output.jsonl",
    "bashboard submit collect my-system autumn_output.jsonl --edition autumn",
)
def collect(
    slug: Slug,
    replies: Annotated[Path, typer.Argument(help="A file of replies, as JSON lines.")],
    suite: SuiteName = "core",
    edition: Annotated[
        str | None,
        typer.Option(
            "--edition", metavar="EDITION", help="The replies answer the prompts of this edition of the suite."
        ),
    ] = None,
) -> None:
    """Write predictions from a model's replies.

    A line is {"task": ..., "output": ...}, a line of `submit prompts` with the answer as one more message, or a result
    of the batches of OpenAI, Anthropic or Google. The text of a reasoning model before its answer is left out. A task
    stays unanswered if its request failed, or if the reply is empty, refused, blocked, cut off or a call of a tool. The
    file may hold failed requests and their retries.
    """
    from evaluator.pipeline.submissions.create import collect_replies
    from evaluator.reply_forms import unanswered_lines

    path, collected = collect_replies(current_project(), slug, suite, replies, edition)
    typer.echo(f"{shown(path)}: {len(collected.lines)} answered")
    for line in unanswered_lines(collected.unanswered):
        typer.echo(line, err=True)
    if collected.unanswered:
        raise typer.Exit(PROBLEMS_FOUND)


@example("bashboard submit migrate my-system")
def migrate(slug: Slug) -> None:
    """Move answers whose tasks moved.

    A new version of a suite can leave tasks to another suite. The command moves the lines of these tasks with all their
    fields, and updates submission.toml. All other bytes stay as they are. It can be repeated.
    """
    from evaluator.pipeline.submissions.migrate import migrate_submission

    written = migrate_submission(current_project(), slug)
    for path, change in written:
        typer.echo(f"{shown(path)}: {change}")
    if not written:
        typer.echo(f"{slug}: nothing to migrate")


@example(
    "bashboard submit import intercode ~/src/intercode",
    "bashboard submit import intercode ~/src/intercode --strategy react --turn 10",
    "bashboard submit import tellina ~/src/nl2bash",
)
def import_recorded(
    name: Annotated[str, typer.Argument(help="The publication. A wrong name lists all names.")],
    clone: Annotated[Path, typer.Argument(metavar="CLONE", help="A clone of the publisher's repository.")],
    strategy: Annotated[
        list[str] | None,
        typer.Option("--strategy", help="A strategy of intercode. May be repeated. The default is try-again."),
    ] = None,
    turn: Annotated[
        int, typer.Option("--turn", min=1, help="Take the last of the first N actions of an episode.", metavar="N")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Import recorded answers of other systems.

    The answers that another publisher recorded stay on this machine. Writes a submission for each system to
    submissions/local-NAME-SYSTEM. Replaces a submission that was imported under that name before. Git ignores these
    folders, because we may not publish the answers.

    intercode has the actions of seven systems on InterCode-Bash. tellina has the three best commands of Tellina and
    ST-CopyNet that people judged. Import the suite intercode or nl2bash first, with `suite add`.
    """
    from evaluator.pipeline.submissions.import_answers import import_answers

    imported = import_answers(current_project(), name, clone, strategies=strategy or (), turn=turn)
    if as_json:
        print_json([asdict(each) for each in imported])
        return
    for each in imported:
        typer.echo(
            f"submissions/{each.slug}: {each.system}, {each.answered} of {each.tasks} tasks of {each.suite} answered"
        )
    typer.echo(f"score them with: bashboard score --suite {imported[0].suite} SLUG...", err=True)


add_commands(submit, init, prompts, collect, migrate, import_recorded)
