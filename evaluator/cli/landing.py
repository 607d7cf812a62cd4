"""`bashboard publish`, its last steps: what a run executed is collected, what was judged comes to the repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from evaluator.cli.app import example, here
from evaluator.cli.progress import shown_progress

Run = Annotated[int, typer.Option("--run", min=1, help="The run's number, as GITHUB_RUN_ID says it.")]
Into = Annotated[Path, typer.Option("--out", help="Where the evidence goes: an empty folder, or none.")]
Expect = Annotated[
    str | None, typer.Option("--expect", help="The submissions that were to be executed, a JSON list of slugs.")
]
Summary = Annotated[bool, typer.Option("--summary", help="Also append this to a GitHub job's summary.")]


def _slugs(text: str) -> list[str]:
    import json

    from evaluator.errors import UsageError

    try:
        found = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--expect {text[:100]!r}: expected a JSON list of slugs; {error}") from error
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise UsageError(f"--expect {text[:100]!r}: expected a JSON list of slugs")
    return found


@example(
    "bashboard publish collect --run 123456 --out evidence",
    """bashboard publish collect --run 123456 --out evidence --expect '["my-system"]'""",
)
def collect(run: Run, out: Into, expect: Expect = None, summary: Summary = False) -> None:
    """Take over what the jobs of a run executed, each submission's evidence by the digests that its own job announced.

    What is not as it was announced is left out and named: that is a failure of ours, the other submissions go on, and
    the next run tries again. GITHUB_REPOSITORY and GITHUB_TOKEN say which repository, and by whose leave.
    """
    from evaluator.errors import InfraError
    from evaluator.github.connection import connect_from
    from evaluator.pipeline.job import summarise
    from evaluator.pipeline.publishing.collect import collect as take
    from evaluator.pipeline.publishing.collect import collected_markdown
    from evaluator.printable import printable

    expected = None if expect is None else _slugs(expect)
    with shown_progress() as progress:
        found = take(here(), connect_from(os.environ), run, out, expected, progress)
    for slug, suites in found.taken.items():
        typer.echo(f"{slug}: {', '.join(suites)}")
    for slug, each in found.left_out.items():
        typer.echo(f"left out: {printable(slug)}: {each.reason}", err=True)
    if summary:
        summarise(os.environ, collected_markdown(found))
    if found.failed:
        raise InfraError(f"nothing of run {run} could be taken over; run the workflow again")
