"""Commands about versions of a suite: make an edition with other names and values, and freeze a version's board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evaluator.cli.app import SuiteArgument, current_project, example, shown
from evaluator.cli.completion import complete_submissions

Seed = Annotated[
    str | None, typer.Option("--seed", metavar="TEXT", help="The seed of an edition, 16 characters or more.")
]
SeedFile = Annotated[
    Path | None, typer.Option("--seed-file", metavar="FILE", help="A file with the seed, for a secret seed.")
]


@example(
    "bashboard suite edition core --name autumn --seed-file ~/autumn.seed",
    "bashboard suite verify core --seed-file ~/autumn.seed --fresh 1",
    "bashboard suite edition core --name try --seed-file S --translate rules",
)
def edition(
    name: SuiteArgument,
    edition_name: Annotated[
        str, typer.Option("--name", metavar="EDITION", help="The name of the edition, as in core@NAME.jsonl.")
    ],
    seed: Seed = None,
    seed_file: SeedFile = None,
    translate: Annotated[
        list[str] | None,
        typer.Option(
            "--translate",
            metavar="SLUG",
            autocompletion=complete_submissions,
            help="Also write this control's answers in the edition's words.",
        ),
    ] = None,
) -> None:
    """Make an edition with other names and values.

    No answer to it can be known by heart. It has the same tasks. Names of folders, files and users, numbers, dates and
    all drawn values are others. Writes the prompts to fixtures/editions, for contributors. The replaced words go to
    .bashboard/editions, which Git ignores. References and seed are written nowhere. The same seed always gives the same
    edition of a suite's version.
    """
    from evaluator.pipeline.maintenance.editions import read_seed, translate_submission, write_edition

    project, secret = current_project(), read_seed(seed, seed_file)
    written = write_edition(project, name, edition_name, secret)
    typer.echo(f"{shown(written.prompts)}: commit it, for contributors")
    words = f"{written.names} names and {written.numbers} numbers replaced, dates moved by {written.years} years"
    typer.echo(f"{shown(written.replacements)}: {words}; keep it and the seed to yourself")
    for slug in translate or ():
        path = translate_submission(project, name, edition_name, secret, slug)
        typer.echo(f"{shown(path)}: translated from {slug}; never published")


@example("bashboard suite freeze core", "bashboard suite freeze core --from ../core-2/site/board")
def freeze(
    name: SuiteArgument,
    board: Annotated[
        Path | None, typer.Option("--from", metavar="FOLDER", help="The boards to take it from. [default: site/board]")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the frozen board of this version.")] = False,
) -> None:
    """Keep the pages of a suite's board.

    Do this before the next major version replaces them. Writes site/frozen/NAME-MAJOR.tar.xz from the pages that
    `bashboard build` wrote. Each later build puts them at board/NAME/MAJOR/.
    """
    from evaluator.pipeline.maintenance.freeze import freeze_board

    path, version = freeze_board(current_project(), name, board, replace=replace)
    typer.echo(f"{shown(path)}: {name} {version}, {path.stat().st_size:,} bytes; commit it")
