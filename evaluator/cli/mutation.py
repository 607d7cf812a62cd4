"""Commands that test a suite by mutation: mutate, equivalent."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from evaluator.cli.app import FOUND_WANTING, AsJson, Workers, example, here, print_json
from evaluator.cli.progress import shown_progress


@example(
    "bashboard suite mutate core",
    "bashboard suite mutate core --topic files --topic text",
    "bashboard suite mutate core --task files-003 --json",
)
def mutate(
    name: Annotated[str, typer.Argument(help="The suite's name.")],
    topic: Annotated[list[str] | None, typer.Option("--topic", help="Only this topic; may be repeated.")] = None,
    task: Annotated[list[str] | None, typer.Option("--task", help="Only this task; may be repeated.")] = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Change every reference by one slip at a time, execute that, and list what passes all the same.

    A survivor is a wrong answer that no variant tells from a reference: give the world a variant that does, or mark
    it with `suite equivalent` where it does what the task asks. Score: failed / (mutants - marked equivalent).
    """
    from evaluator.cli.survivors import mutation_lines
    from evaluator.pipeline.upkeep.mutate import mutate_suite

    project = here()
    with shown_progress() as progress:
        found = mutate_suite(
            project, project.suite(name), progress, topics=topic or (), tasks=task or (), workers=workers
        )
    if as_json:
        print_json(found.model_dump(mode="json"))
    for line in [] if as_json else mutation_lines(found):
        typer.echo(line)
    if not found.is_clean:
        raise typer.Exit(FOUND_WANTING)


@example("bashboard suite equivalent core files-001 - --because 'same names'")
def equivalent(
    name: Annotated[str, typer.Argument(help="The suite's name.")],
    task: Annotated[str, typer.Argument(help="The task's id.")],
    command: Annotated[str, typer.Argument(help="The mutant, byte for byte; - reads it from standard input.")],
    because: Annotated[str, typer.Option("--because", help="Why it does what the task asks in every world.")],
) -> None:
    """Mark a mutant of a task as equivalent: it does what the task asks, and no variant could tell it."""
    from evaluator.pipeline.upkeep.mutate import mark_mutant

    project = here()
    given = sys.stdin.buffer.read().removesuffix(b"\n") if command == "-" else command.encode(errors="surrogateescape")
    mark_mutant(project, project.suite(name), task, given, because)
