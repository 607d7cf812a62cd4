"""`bashboard image`: the sandbox images as a file, so that one machine builds them and others load them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import FOUND_WANTING, Group, example, here, shown
from evaluator.cli.progress import shown_progress

if TYPE_CHECKING:
    from evaluator.pipeline.evidence.images import Saved

image = typer.Typer(cls=Group, no_args_is_help=True, help="Sandbox images as a file: save, load, name.")

File = Annotated[Path, typer.Argument(metavar="FILE", help="The images' file, such as image.tar.gz.")]
SuiteNames = Annotated[
    list[str] | None, typer.Option("--suite", help="May be repeated; every suite on the board by default.")
]
Outputs = Annotated[bool, typer.Option("--outputs", help="Also set the step's outputs in a GitHub job.")]


def _give(outputs: bool, **values: str) -> None:
    if outputs:
        from evaluator.pipeline.job import give_outputs

        give_outputs(os.environ, values)


def _show(saved: Saved) -> None:
    typer.echo(saved.sha256)
    for reference in saved.references:
        typer.echo(reference, err=True)


@example("bashboard image save image.tar.gz", "bashboard image save image.tar.gz --suite core")
def save(file: File, suite: SuiteNames = None, outputs: Outputs = False) -> None:
    """Save sandbox images to one file and print its SHA-256; images that are not there are built first.

    With --outputs the step's output `sha256` is set.
    """
    from evaluator.pipeline.evidence import images

    with shown_progress() as progress:
        saved = images.save(here(), progress, file, suite or ())
    _show(saved)
    _give(outputs, sha256=saved.sha256)


@example(
    "bashboard image load image.tar.gz --sha256 61c4...09ae",
    "bashboard image load image.tar.gz --known",
    "bashboard image load image.tar.gz --known --or-build",
)
def load(
    file: File,
    suite: SuiteNames = None,
    sha256: Annotated[
        str | None, typer.Option("--sha256", metavar="DIGEST", help="The file's, as its maker said it.")
    ] = None,
    known: Annotated[
        bool, typer.Option("--known", help="Take the published file, which `fetch` tells, and no other.")
    ] = False,
    or_build: Annotated[
        bool, typer.Option("--or-build", help="With --known: build what is not that, and save it to FILE.")
    ] = False,
    outputs: Outputs = False,
) -> None:
    """Load sandbox images from a file that `bashboard image save` wrote; its digest must be said or published.

    The digest is compared before the engine sees the file, and its images must be those of this checkout's suites.
    A file that is not the published one is said to be, with exit code 1. With --outputs the step's output `sha256` is
    that of FILE as it stands afterwards.
    """
    from evaluator.errors import UsageError
    from evaluator.pipeline.evidence import images

    if (sha256 is None) != known or (or_build and not known):
        raise UsageError("expected --sha256 or --known, and --or-build with --known alone: an image is taken by digest")
    project = here()
    with shown_progress() as progress:
        found = (
            images.load(project, progress, file, sha256, suite or ())
            if sha256 is not None
            else images.load_known(project, progress, file, suite or ())
        )
        if isinstance(found, str):
            typer.echo(f"bashboard: {found}", err=True)
            if not or_build:
                raise typer.Exit(FOUND_WANTING)
            found = images.save(project, progress, file, suite or ())
    _show(found)
    _give(outputs, sha256=found.sha256)


@example("bashboard image reference", "bashboard image reference --suite core")
def reference(suite: SuiteNames = None, outputs: Outputs = False) -> None:
    """Print the images' names, which say by digest what they are made from, and the published file's SHA-256.

    With --outputs the step's outputs `reference` (names joined by +) and `sha256` (empty where none is published) are
    set. No engine is asked.
    """
    from evaluator.pipeline.evidence.images import fetched_images, named_images

    project = here()
    references, sha256 = named_images(project, suite or ())
    for each in references:
        typer.echo(each)
    typer.echo(sha256 or f"no file with them is published, as far as {shown(fetched_images(project))} says", err=True)
    _give(outputs, reference="+".join(references), sha256=sha256 or "")


for command in (save, load, reference):
    image.command(epilog=command.__dict__.get("epilog"))(command)
