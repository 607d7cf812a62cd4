"""The part of `bashboard score` that scores a sealed edition of a suite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer

from evaluator.cli.app import console, current_project, print_records, shown
from evaluator.cli.progress import shown_progress

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from evaluator.records import EditionDifference


def score_sealed(
    edition: str | None,
    seed_file: Path | None,
    *,
    suites: Sequence[str],
    submissions: Sequence[str],
    judge: str | None,
    workers: int | None,
    panel: bool | None,
    as_json: bool,
) -> None:
    """Score an edition, print the differences, and name the file with the figures.

    Raises UsageError for options that do not belong together.
    """
    from evaluator.errors import UsageError
    from evaluator.pipeline.maintenance.edition_scoring import score_edition
    from evaluator.pipeline.maintenance.editions import read_seed

    if edition is None or seed_file is None:
        raise UsageError("--edition and --seed-file belong together: expected both or neither")
    if panel:
        raise UsageError("--panel and --edition: the texts of a sealed edition must not leave this machine")
    if len(suites) > 1:
        raise UsageError(f"--edition {edition}: expected one --suite, found {', '.join(suites)}")
    with shown_progress() as progress:
        scores = score_edition(
            current_project(),
            progress,
            suites[0] if suites else "core",
            edition,
            read_seed(None, seed_file),
            submissions=submissions,
            judge=judge,
            workers=workers,
        )
    if as_json:
        print_records(scores.published)
    else:
        out = console()
        out.print(_table(f"Public suite and edition {edition}", scores.published))
        if scores.translated:
            out.print(_table("Controls, translated into the edition's words: never published", scores.translated))
    if scores.path is not None:
        typer.echo(f"{shown(scores.path)}: counts by tier, the only file to commit", err=True)


def _table(title: str, rows: Iterable[EditionDifference]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("system", "tier", "tasks", "public", "edition", "difference", "95 % interval"):
        table.add_column(name, justify="left" if name in ("system", "tier") else "right", no_wrap=True)
    for row in rows:
        low, high = 100 * row.difference_low, 100 * row.difference_high
        cells = (row.submission, row.tier, str(row.tasks), f"{100 * row.public:.1f}", f"{100 * row.sealed:.1f}")
        table.add_row(*map(Text, (*cells, f"{100 * row.difference:+.1f}", f"{low:+.1f} to {high:+.1f}")))
    return table
