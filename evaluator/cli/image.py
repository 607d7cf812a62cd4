"""`bashboard image`: save sandbox images to a file, so that one machine builds them and other machines load them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import PROBLEMS_FOUND, Group, add_commands, current_project, example, shown
from evaluator.cli.completion import complete_suites
from evaluator.cli.progress import shown_progress

if TYPE_CHECKING:
    from evaluator.pipeline.evidence.images import ImageFile

image = typer.Typer(cls=Group, no_args_is_help=True, help="Save sandbox images to a file and load them.")

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file with the images, for example image.tar.gz.")]
SuiteNames = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        metavar="SUITE",
        autocompletion=complete_suites,
        help="Only this suite. May be repeated. The default is every suite on the board.",
    ),
]
Outputs = Annotated[bool, typer.Option("--outputs", help="Also set the outputs of the step in a GitHub job.")]


def _give(outputs: bool, **values: str) -> None:
    if outputs:
        from evaluator.github.job_output import set_outputs

        set_outputs(os.environ, values)


def _show(saved: ImageFile) -> None:
    typer.echo(saved.sha256)
    for reference in saved.references:
        typer.echo(reference, err=True)


@example("bashboard image save image.tar.gz", "bashboard image save image.tar.gz --suite core")
def save(file: File, suite: SuiteNames = None, outputs: Outputs = False) -> None:
    """Save sandbox images to one file.

    Prints its SHA-256. Builds missing images first. With --outputs, the step's output `sha256` is set.
    """
    from evaluator.pipeline.evidence import images

    with shown_progress() as progress:
        saved = images.save(current_project(), progress, file, suite or ())
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
        str | None,
        typer.Option("--sha256", metavar="DIGEST", help="The expected digest of the file, from the job that wrote it."),
    ] = None,
    known: Annotated[
        bool, typer.Option("--known", help="Accept only the published file. `bashboard fetch` brings its digest.")
    ] = False,
    or_build: Annotated[
        bool,
        typer.Option(
            "--or-build",
            help="With --known: if FILE is not the published file, build the images and save them to FILE.",
        ),
    ] = False,
    outputs: Outputs = False,
) -> None:
    """Load sandbox images from a file.

    `bashboard image save` writes such a file. It must have the expected digest. The digest is the argument of --sha256
    or, with --known, the published one. It is compared before the engine reads the file. The images must be those of
    this checkout's suites. With --known, the exit code is 1 if the file is not the published one. With --outputs, the
    step's output `sha256` is the final digest of FILE.
    """
    from evaluator.errors import UsageError
    from evaluator.pipeline.evidence import images

    if (sha256 is None) != known or (or_build and not known):
        raise UsageError("expected --sha256 or --known, and --or-build with --known alone: an image is taken by digest")
    project = current_project()
    with shown_progress() as progress:
        found = (
            images.load(project, progress, file, sha256, suite or ())
            if sha256 is not None
            else images.load_known(project, progress, file, suite or ())
        )
        if isinstance(found, str):
            typer.echo(f"bashboard: {found}", err=True)
            if not or_build:
                raise typer.Exit(PROBLEMS_FOUND)
            found = images.save(project, progress, file, suite or ())
    _show(found)
    _give(outputs, sha256=found.sha256)


@example("bashboard image reference", "bashboard image reference --suite core")
def reference(suite: SuiteNames = None, outputs: Outputs = False) -> None:
    """Print the names of the images.

    Also prints the SHA-256 of the published file. A name contains the digest of the image's inputs. With --outputs, the
    step's outputs `reference` (names joined by +) and `sha256` (empty if no file is published) are set. Uses no engine.
    """
    from evaluator.pipeline.evidence.images import fetched_images, named_images

    project = current_project()
    references, sha256 = named_images(project, suite or ())
    for each in references:
        typer.echo(each)
    typer.echo(sha256 or f"no file with them is published, as far as {shown(fetched_images(project))} says", err=True)
    _give(outputs, reference="+".join(references), sha256=sha256 or "")


add_commands(image, save, load, reference)
