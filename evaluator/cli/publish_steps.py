"""Steps of `bashboard publish` that collect a workflow run's evidence, commit verdicts, or open a pull request."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from evaluator.cli.app import current_project, example, parse_slugs
from evaluator.cli.progress import shown_progress

Run = Annotated[int, typer.Option("--run", min=1, help="The id of the run, as in GITHUB_RUN_ID.")]
Into = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="The folder for the evidence. It must be empty or missing.")
]
Expect = Annotated[
    str | None,
    typer.Option(
        "--expect", metavar="JSON", help="The submissions that the run should execute, as a JSON list of slugs."
    ),
]
Summary = Annotated[bool, typer.Option("--summary", help="Also append the result to the summary of the GitHub job.")]

File = Annotated[Path, typer.Argument(metavar="FILE", help="The archive that `bashboard publish judge` wrote.")]
Sha256 = Annotated[
    str, typer.Option("--sha256", metavar="DIGEST", help="The expected SHA-256 of the archive, from the judge's job.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be done and write nothing.")]
Outputs = Annotated[bool, typer.Option("--outputs", help="Also set the outputs of the step in a GitHub job.")]


@example(
    "bashboard publish collect --run 1234 --out evidence",
    """bashboard publish collect --run 1234 --out evidence --expect '["mine"]'""",
)
def collect(run: Run, out: Into, expect: Expect = None, summary: Summary = False) -> None:
    """Download and verify the evidence of a run.

    The evidence of each submission is verified against the digests that its own job announced. Evidence that differs
    from its announcement is skipped and reported as a failure of ours. The other submissions are collected, and the
    next run tries again. The repository is GITHUB_REPOSITORY, and the token is GITHUB_TOKEN.
    """
    from evaluator.errors import InfraError
    from evaluator.escaping import printable
    from evaluator.github.connection import github_connection
    from evaluator.github.job_output import append_summary
    from evaluator.pipeline.publishing.collect import collect as take
    from evaluator.pipeline.publishing.collect import collected_markdown

    expected = None if expect is None else parse_slugs("--expect", expect)
    with shown_progress() as progress:
        found = take(current_project(), github_connection(os.environ), run, out, expected, progress)
    for slug, suites in found.taken.items():
        typer.echo(f"{slug}: {', '.join(suites)}")
    for slug, each in found.left_out.items():
        typer.echo(f"left out: {printable(slug)}: {each.reason}", err=True)
    if summary:
        append_summary(os.environ, collected_markdown(found))
    if found.failed:
        raise InfraError(f"nothing of run {run} could be taken over; run the workflow again")


@example(
    "bashboard publish commit published.tar.gz --sha256 61c4...09ae",
    "bashboard publish commit published.tar.gz --sha256 61c4...09ae --dry-run",
)
def commit(
    file: File, sha256: Sha256, dry_run: DryRun = False, summary: Summary = False, outputs: Outputs = False
) -> None:
    """Commit verdicts and evidence.

    Verdict files and owners go to main, and evidence goes to its branch. A submission that was changed or withdrawn
    after it was judged is skipped and reported. The run for that change judges it again. The push to main is never
    forced. Running the command again changes nothing. With --outputs, the step's output `commit` is the new head of
    main.
    """
    from evaluator.github.connection import github_connection
    from evaluator.github.job_output import append_summary, set_outputs
    from evaluator.pipeline.publishing.archive import read_archive
    from evaluator.pipeline.publishing.commit import commit_archive, committed_markdown

    done = commit_archive(current_project(), github_connection(os.environ), read_archive(file, sha256), dry_run=dry_run)
    _tell_left_out(done.left_out)
    for slug in done.published:
        typer.echo(f"{'would publish' if dry_run else 'published'}: {slug}")
    for slug, owner in done.owners.items():
        typer.echo(f"{slug} belongs to {'the project' if owner is None else f'account {owner}'}")
    typer.echo(f"main is at {done.commit}")
    if summary:
        append_summary(os.environ, committed_markdown(done))
    if outputs:
        set_outputs(os.environ, {"commit": done.commit})


def _tell_left_out(left_out: Mapping[str, str]) -> None:
    for slug, why in left_out.items():
        typer.echo(f"left out: {slug} {why}", err=True)


@example(
    "bashboard publish propose published.tar.gz --sha256 61c4...09ae",
    "bashboard publish propose published.tar.gz --sha256 61c4...09ae --dry-run",
)
def propose(file: File, sha256: Sha256, dry_run: DryRun = False, summary: Summary = False) -> None:
    """Propose a rescore as a pull request.

    It has the verdicts of the rescore and the table of rows that move. The evidence goes to its own branch. If such a
    pull request is open already, it is updated.
    """
    from evaluator.github.connection import github_connection
    from evaluator.github.job_output import append_summary
    from evaluator.pipeline.publishing.archive import read_archive
    from evaluator.pipeline.publishing.propose import propose_archive, proposed_markdown

    found = propose_archive(
        current_project(), github_connection(os.environ), read_archive(file, sha256), dry_run=dry_run
    )
    _tell_left_out(found.left_out)
    if found.proposal is not None:
        typer.echo(f"#{found.proposal.number} {found.proposal.written.value}: {found.proposal.url}")
    else:
        typer.echo(f"{found.title}\n\n{found.body}" if found.body else "no published verdict would change")
    if summary:
        append_summary(os.environ, proposed_markdown(found))
