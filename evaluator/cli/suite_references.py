"""The commands `doubts` and `retire`, for references of a suite that may be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluator.cli.app import (
    AsJson,
    SuiteArgument,
    TaskArgument,
    TaskNames,
    Workers,
    current_project,
    example,
    print_json,
    shown,
)
from evaluator.cli.progress import shown_progress
from evaluator.escaping import printable
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.pipeline.maintenance.reference_doubts import Behaviour, Doubt

SHOWN_LINES = 6
"""The most lines of an output, and the most changed paths, that the text of a doubt has."""


@example(
    "bashboard suite doubts core",
    "bashboard suite doubts intercode --task fs1-002 --json",
    "bashboard suite doubts core --write",
)
def doubts(
    name: SuiteArgument,
    task: TaskNames = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write the file from which task pages say 'reference in doubt'.")
    ] = False,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """List references that systems contradict.

    Several systems disagree with such a reference, although these systems agree with each other. A reference is in
    doubt if the first candidates of three or more submissions with different models show the same in every variant, and
    show something, and do not pass with this reference alone. Both behaviours are printed. A doubt changes no verdict.
    If the reference is wrong, retire it with `suite retire`.
    """
    from evaluator.errors import UsageError
    from evaluator.pipeline.maintenance.reference_doubts import suite_doubts, write_doubts

    if write and task:
        raise UsageError("--write and --task: the file has the doubts of the whole suite; leave --task out")
    project = current_project()
    suite = project.suite(name)
    with shown_progress() as progress:
        found = suite_doubts(project, suite, progress, tasks=task or (), workers=workers)
    if as_json:
        print_json([_doubt_json(each) for each in found])
    for line in [] if as_json else (line for each in found for line in _doubt_lines(each)):
        typer.echo(line)
    if not as_json:
        tasks = len({each.task.id for each in found})
        typer.echo(f"{pluralize(len(found), 'reference')} in doubt in {tasks} of {len(task or suite.tasks)} tasks")
    if write:
        typer.echo(f"written to {shown(write_doubts(suite, found))}", err=True)


def _text(data: bytes) -> str:
    return printable(data.decode("utf-8", "backslashreplace"))


def _doubt_lines(doubt: Doubt) -> Iterator[str]:
    """Yield a doubt as lines: the task, the reason, and both behaviours."""
    yield f"{doubt.task.id}: {printable(doubt.task.nl)}"
    models = ", ".join(map(printable, doubt.models))
    yield f"  {len(doubt.models)} models disagree with reference {doubt.reference}: {models}"
    yield f"  {doubt.finding.outcome.value}: {printable(doubt.finding.reason)}"
    for title, behaviour in (("reference", doubt.expected), ("systems", doubt.group)):
        yield f"  {title}: {_text(behaviour.command)}"
        yield from (f"      {line}" for line in _behaviour_lines(behaviour))


def _behaviour_lines(behaviour: Behaviour) -> Iterator[str]:
    lines = behaviour.stdout.rstrip(b"\n").split(b"\n") if behaviour.stdout else []
    yield f"in variant {behaviour.variant}, exit status {behaviour.status}"
    yield from (f"| {_text(line)}" for line in lines[:SHOWN_LINES])
    yield from (f"* {printable(change)}" for change in behaviour.changes[:SHOWN_LINES])
    if hidden := max(0, len(lines) - SHOWN_LINES) + max(0, len(behaviour.changes) - SHOWN_LINES):
        yield f"... {hidden} more"


def _doubt_json(doubt: Doubt) -> dict[str, Any]:
    return {
        "task": doubt.task.id,
        "instruction": doubt.task.nl,
        "reference": doubt.reference,
        "models": list(doubt.models),
        "outcome": doubt.finding.outcome.value,
        "reason": doubt.finding.reason,
        "behaviours": {"reference": _behaviour_json(doubt.expected), "systems": _behaviour_json(doubt.group)},
        "agreeing": [
            {"command": command.decode("utf-8", "backslashreplace"), "submissions": [each.slug for each in answerers]}
            for command, answerers in doubt.agreeing.items()
        ],
    }


def _behaviour_json(behaviour: Behaviour) -> dict[str, Any]:
    return {
        "command": behaviour.command.decode("utf-8", "backslashreplace"),
        "variant": behaviour.variant,
        "status": behaviour.status,
        "stdout": behaviour.stdout.decode("utf-8", "backslashreplace"),
        "changes": list(behaviour.changes),
    }


@example("bashboard suite retire core files-003 2 --because 'counts hidden files'")
def retire(
    name: SuiteArgument,
    task: TaskArgument,
    reference: Annotated[int, typer.Argument(help="The number of the reference, as `suite show` prints it.")],
    because: Annotated[str, typer.Option("--because", metavar="TEXT", help="The reason, which is published.")],
    as_json: AsJson = False,
) -> None:
    """Retire a reference that is wrong.

    No judge uses it any more, and the suite's minor version rises. The task still lists the reference, with the reason.
    A task keeps as many references as its suite requires. The retirement holds until the task is reworded. Rulings and
    marks of this task must be given again, because they name the references too.
    """
    from evaluator.pipeline.maintenance.retire_reference import retire_reference

    made = retire_reference(current_project(), name, task, reference, because)
    if as_json:
        print_json(made.line.model_dump(mode="json"))
        return
    typer.echo(f"{_text(made.command)} is no reference of {task} any more")
    typer.echo(f"{name} is now version {made.line.version}; written to {shown(made.path)}")
    typer.echo(
        f"check it with: bashboard suite verify {name} --task {task}; apply it with: bashboard rescore", err=True
    )
