"""Commands that download, produce and import evidence: `bashboard fetch`, `bashboard evidence`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.app import (
    AsJson,
    Group,
    Slugs,
    Workers,
    add_commands,
    current_project,
    example,
    parse_slugs,
    print_json,
    shown,
    warn,
)
from evaluator.cli.completion import complete_suites
from evaluator.cli.progress import shown_progress
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.pipeline.evidence.import_bundles import ImportSummary
    from evaluator.pipeline.evidence.produce import WrittenBundle

evidence = typer.Typer(cls=Group, no_args_is_help=True, help="Write evidence to bundles and import them.")

SuiteNames = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        metavar="SUITE",
        autocompletion=complete_suites,
        help="Only this suite. May be repeated. The default is all.",
    ),
]


@contextlib.contextmanager
def _inert() -> Iterator[None]:
    """Prevent the GitHub runner from executing workflow commands in text that is printed inside this `with` block.

    The text may come from untrusted contributors, and an error message may quote it. So if the block raises a
    BashboardError, this function prints the message under the same protection, and exits.
    """
    from evaluator.errors import BashboardError
    from evaluator.github.job_output import stop_commands

    with stop_commands(os.environ, sys.stderr):
        try:
            yield
        except BashboardError as error:
            typer.echo(f"bashboard: {error}", err=True)
            raise typer.Exit(error.exit_code) from None


def _tell(taken: ImportSummary) -> None:
    """Print how many evidence bundles, runs and model replies were imported, and which kinds of data were skipped."""
    replies = pluralize(taken.replies, "reply", "replies")
    typer.echo(f"{pluralize(taken.bundles, 'bundle')}: {pluralize(taken.runs, 'run')}, {replies} of models")
    passed_over = [f"{pluralize(count, 'bundle')} {why}" for why, count in sorted(taken.passed_over.items())]
    if taken.not_needed:
        passed_over.append(f"{pluralize(taken.not_needed, 'run')} of commands that are not in this checkout")
    if taken.other_files:
        passed_over.append(f"{pluralize(taken.other_files, 'file')} that are no published evidence")
    for each in (*passed_over, *taken.faults):
        typer.echo(f"skipped: {each}", err=True)


@example("bashboard fetch", "bashboard fetch --remote upstream", "bashboard fetch --json")
def fetch(
    remote: Annotated[str, typer.Option("--remote", help="A remote of this checkout, or an address.")] = "origin",
    branch: Annotated[str, typer.Option("--branch", help="The branch with the evidence.")] = "evidence",
    references: Annotated[
        bool, typer.Option("--references", help="Only evidence of references, for `bashboard preview --published`.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Download the published evidence.

    Its commands need not be executed again. Imports the evidence of the references first, then that of all submissions.
    The store keeps only the evidence that the suites and submissions of this checkout need. The files of the branch
    stay in .bashboard/evidence. Missing evidence is executed when it is needed.
    """
    from evaluator.pipeline.evidence.import_bundles import fetch_evidence

    project = current_project()
    with _inert(), shown_progress() as progress:
        fetched = fetch_evidence(project, progress, remote, branch, os.environ, references=references)
    if as_json:
        print_json(fetched.as_json())
    elif fetched.commit is None:
        typer.echo(f"{remote} has no branch {branch}: no evidence is published yet")
    else:
        typer.echo(f"{branch} at {fetched.commit[:12]}, in {shown(fetched.folder)}")
        with _inert():
            _tell(fetched.summary)


@example(
    "bashboard evidence make my-system --out evidence",
    "bashboard evidence make --references --suite core --out evidence",
    """bashboard evidence make --references --due '["my-system"]' --out evidence""",
    "bashboard evidence make --shard 2/5 --out evidence --json",
)
def make(
    out: Annotated[Path, typer.Option("--out", help="The folder for the bundles.", metavar="FOLDER")],
    slugs: Slugs = None,
    references: Annotated[
        bool, typer.Option("--references", help="Execute the references. Without a SLUG, nothing else.")
    ] = False,
    due: Annotated[
        str | None,
        typer.Option("--due", metavar="JSON", help="With --references: also in the fresh variants of these slugs."),
    ] = None,
    suite: SuiteNames = None,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="I/N", help="Only the I-th of N parts of the submissions.")
    ] = None,
    workers: Workers = None,
    announce: Annotated[
        bool, typer.Option("--announce", help="Print each bundle's digest as a notice of the GitHub job.")
    ] = False,
    outputs: Annotated[
        bool, typer.Option("--outputs", help="Also set the outputs of the step in a GitHub job.")
    ] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Exit with code 0 although some executions or suites failed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Execute commands and write their evidence.

    Executes commands without evidence. Writes one bundle for each submission and suite. With --outputs, the step's
    output `sha256` is the digest of all files in FOLDER, for `bashboard evidence import --sha256`. If an execution
    fails because of our machinery, the bundle contains the rest of the evidence. A suite that fails as a whole has no
    bundle. Both are reported, and the exit code is 3. With --partial, it is 0 if any bundle was written.
    """
    with _inert(), shown_progress() as progress:
        from evaluator.pipeline.evidence.bundle import folder_digest
        from evaluator.pipeline.evidence.produce import make_references, make_submissions, share_of

        project = current_project()
        made: list[WrittenBundle] = []
        troubles: dict[str, str] = {}
        if references:
            found = make_references(project, progress, out, suite or (), workers, parse_slugs("--due", due or "[]"))
            made, troubles = found.bundles, found.troubles
        if slugs or not references:
            found = make_submissions(
                project, progress, out, share_of(project, slugs or (), shard), suite or (), workers
            )
            made, troubles = made + found.bundles, troubles | found.troubles
        digest = folder_digest(out) if outputs else ""
    _show_made(made, as_json=as_json)
    for each in made if announce else ():
        # on stderr, which was muted: the runner reads the two streams in no fixed order and might ignore stdout
        typer.echo(each.announcement, err=True)
    if outputs:
        from evaluator.github.job_output import set_outputs

        set_outputs(os.environ, {"sha256": digest})
    for name, reason in troubles.items():
        warn(f"suite {name} is left out: {reason}")
    if missing := sum(each.missing for each in made):
        warn(f"{missing} runs are missing because of a failure of ours; run the same command again")
    if (missing or troubles) and not partial:
        raise typer.Exit(3)


def _show_made(made: list[WrittenBundle], *, as_json: bool) -> None:
    if as_json:
        print_json([each._asdict() | {"path": each.path.as_posix()} for each in made])
        return
    for each in made:
        short = f", {each.left_out} left out because the bundle is full" if each.left_out else ""
        typer.echo(f"{each.sha256}  {shown(each.path)}  ({each.runs} runs{short})")


@example(
    "bashboard evidence import evidence",
    "bashboard evidence import prepared/references --sha256 61c4...09ae",
)
def import_(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder that `bashboard evidence make` wrote.")],
    sha256: Annotated[
        str | None,
        typer.Option(
            "--sha256", metavar="DIGEST", help="The expected digest of the folder, from the job that wrote it."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import the bundles of a folder.

    The evidence goes into the local store. Only evidence of this checkout's commands and environment is imported. With
    --sha256, the digest of all files and their names is compared before any bundle is read.
    """
    from evaluator.pipeline.evidence.import_bundles import import_evidence

    with _inert(), shown_progress() as progress:
        taken = import_evidence(current_project(), progress, folder, sha256)
    if as_json:
        print_json(taken.as_json())
    else:
        _tell(taken)


add_commands(evidence, make, import_)
