"""The command `corrections`, for an edition of a benchmark that corrects another edition."""

from __future__ import annotations

from typing import Annotated

import typer

from evaluator.cli.app import AsJson, current_project, example, print_json
from evaluator.cli.completion import complete_suites

COLUMN = 34


@example(
    "bashboard suite corrections nl2sh-alfa intercode intercode-test",
    "bashboard suite corrections nl2sh-alfa intercode --json",
)
def corrections(
    name: Annotated[str, typer.Argument(metavar="SUITE", autocompletion=complete_suites, help="The corrected suite.")],
    first: Annotated[
        list[str], typer.Argument(metavar="SUITE", autocompletion=complete_suites, help="The suites that it corrects.")
    ],
    as_json: AsJson = False,
) -> None:
    """Count what a corrected suite changed.

    The changes are counted by the class of the error. A task's partner in the corrected edition has another
    instruction, another command, or both. A task without a partner was a duplicate, or was removed. The counts can be
    compared with table 3 of Westenfelder et al. 2025. A correction of the environment alone changes no text, so such a
    task counts as unchanged. Nothing is executed.
    """
    from evaluator.pipeline.maintenance.suite_corrections import suite_corrections

    found = suite_corrections(current_project(), name, first)
    if as_json:
        print_json(found)
        return
    for row in found["tasks"]:
        if row["classes"]:
            typer.echo(f"{row['task']}: {' and '.join(row['classes'])}, now {row['partner'] or 'without a partner'}")
    total = len(found["tasks"])
    for title, counts in (("computed", found["counts"]), ("published", found["published"])):
        typer.echo(f"{title}:")
        for kind, count in counts.items():
            typer.echo(f"  {kind:{COLUMN}} {count:4} {100 * count / max(1, total):5.1f} %")
