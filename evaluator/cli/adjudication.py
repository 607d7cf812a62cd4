"""`bashboard adjudicate`: record a maintainer's ruling on a command for all submissions that contain the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import AsJson, Slug, SuiteName, TaskArgument, current_project, example, print_json, shown

if TYPE_CHECKING:
    from evaluator.records import Ruling


def ruling_named(word: str) -> Ruling:
    """Return the maintainer's ruling with this name, such as `pass`. Raises UsageError if there is no such ruling."""
    from evaluator.errors import UsageError
    from evaluator.records import Ruling

    known = {each.value: each for each in Ruling}
    if word not in known:
        raise UsageError(f"{word!r}: expected {' or '.join(known)}")
    return known[word]


@example(
    "bashboard adjudicate rules text-002 pass --because 'sorts as asked'",
    "bashboard adjudicate rules files-003 fail --rank 2 --because 'a month less'",
)
def adjudicate(
    submission: Slug,
    task: TaskArgument,
    ruling: Annotated[str, typer.Argument(metavar="RULING", help="pass or fail.")],
    because: Annotated[str, typer.Option("--because", metavar="TEXT", help="The reason, which is published.")],
    suite: SuiteName = "core",
    rank: Annotated[int, typer.Option("--rank", min=1, help="The number of the candidate.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Rule on one answer.

    The ruling overrides every judge. It applies to every submission with the same command, until the task is reworded.
    """
    from evaluator.pipeline.grading.adjudications import adjudicate as rule

    made = rule(
        current_project(),
        suite=suite,
        submission=submission,
        task=task,
        ruling=ruling_named(ruling),
        because=because,
        rank=rank,
    )
    if as_json:
        print_json({**made.adjudication.model_dump(mode="json"), "submissions": list(made.submissions)})
        return
    typer.echo(f"{made.command!r} on {task}: {made.adjudication.ruling.value}")
    typer.echo(
        f"submitted by {', '.join(made.submissions)}; written to {shown(made.path)}; apply it with: bashboard rescore"
    )
