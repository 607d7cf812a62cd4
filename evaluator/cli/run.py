"""`bashboard run`: execute one command by hand, in the same way as scoring does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import AsJson, SuiteName, console, current_project, example, print_json
from evaluator.cli.completion import complete_worlds
from evaluator.cli.progress import shown_progress

if TYPE_CHECKING:
    from evaluator.records import Observation


def _observations(names: list[str]) -> list[Observation]:
    from evaluator.errors import UsageError
    from evaluator.records import Observation

    known = {each.value: each for each in Observation}
    for name in names:
        if name not in known:
            raise UsageError(f"--observe {name}: expected one of {', '.join(known)}")
    return [known[name] for name in names]


def _command_bytes(command: str | None, file: Path | None) -> bytes:
    from evaluator.errors import UsageError

    if (command is None) == (file is None):
        raise UsageError("expected a command or --file, and not both")
    if file is None:
        return (command or "").encode(errors="surrogateescape")
    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"--file {file}: {error.strerror}") from error


@example(
    "bashboard run 'ls -la' --world office",
    "bashboard run --file script.sh --world farm --variant winter --json",
    "bashboard run 'export A=1' --world office --observe shell",
)
def run(
    world: Annotated[
        str, typer.Option("--world", metavar="WORLD", autocompletion=complete_worlds, help="The world to run in.")
    ],
    command: Annotated[str | None, typer.Argument(metavar="COMMAND", help="The command to execute.")] = None,
    suite: SuiteName = "core",
    variant: Annotated[
        list[str] | None,
        typer.Option(
            "--variant", metavar="VARIANT", help="A variant of the world. May be repeated. The default is the first."
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Execute the contents of this file. - reads standard input.")
    ] = None,
    observe: Annotated[
        list[str] | None, typer.Option("--observe", help="Also record shell, processes or mtime.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Execute one command as scoring does.

    Prints its evidence and stores nothing.
    """
    from evaluator.cli.evidence_view import evidence_table
    from evaluator.pipeline.grading.executor import run_command

    with shown_progress() as progress:
        found = run_command(
            current_project(),
            progress,
            _command_bytes(command, file),
            suite=suite,
            world=world,
            variants=variant or (),
            observe=_observations(observe or []),
        )
    if as_json:
        print_json({name: evidence.model_dump(mode="json") for name, evidence in found.items()})
        return
    for name, evidence in found.items():
        console().print(evidence_table(name, {"evidence": evidence}))
