"""The commands `doctor`, which checks this machine, and `schema`, which prints file formats."""

from __future__ import annotations

from typing import Annotated

import typer

from evaluator.cli.app import AsJson, current_project, example, print_json
from evaluator.cli.progress import shown_progress
from evaluator.wording import name_hint


@example("bashboard doctor", "bashboard doctor --fix", "bashboard doctor --json")
def doctor(
    fix: Annotated[
        bool, typer.Option("--fix", help="Install, start or build missing parts, and remove old images.")
    ] = False,
    test: Annotated[
        bool,
        typer.Option("--test/--no-test", help="Whether to start a sandbox, which tests its isolation and its speed."),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Check the container engine of this machine.

    Shows which engine and base are used, and why. With --fix, it repairs the set-up.
    """
    from evaluator.pipeline.maintenance.doctor import machine_facts

    with shown_progress() as progress:
        facts = machine_facts(current_project(), progress, fix=fix, test=test)
    if as_json:
        print_json([fact._asdict() for fact in facts])
    for fact in [] if as_json else facts:
        typer.echo(f"{fact.name:18} {fact.value}{f'  ({fact.why})' if fact.why else ''}")


@example("bashboard schema", "bashboard schema prediction > prediction.schema.json")
def schema(
    name: Annotated[
        str | None, typer.Argument(help="The name of the format. Without it, all names are listed.")
    ] = None,
) -> None:
    """Print the JSON Schema of a file format."""
    from evaluator.errors import UsageError
    from evaluator.records import SCHEMAS, schema_of

    if name is None:
        for each, record in SCHEMAS.items():
            typer.echo(f"{each:12} {(record.__doc__ or '').splitlines()[0]}")
        return
    if name not in SCHEMAS:
        raise UsageError(f"no format is named {name!r}{name_hint(name, SCHEMAS, 'bashboard schema')}")
    print_json(schema_of(name))
