"""Terminal tables of changed verdicts and of contested verdicts. A contested verdict needs a maintainer's ruling.

The tables show control characters in untrusted text as escapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evaluator.escaping import printable
from evaluator.wording import pluralize

if TYPE_CHECKING:
    from evaluator.records import BoardPosition, Contested, Finding, RowChange, SuiteDiff, VerdictChange, VerdictDiff

_HEADS = ("row", "accuracy", "after", "rank", "after", "passed", "after", "undecided", "after")


def changes_tables(changes: VerdictDiff) -> RenderableType:
    """Render the effect of changed verdicts for each suite: board rows that move, and verdicts with a new outcome."""
    if not changes.suites:
        return Text("no published verdict changes")
    return Group(*(part for suite in changes.suites for part in _suite(suite)))


def _suite(changes: SuiteDiff) -> Iterator[RenderableType]:
    moved = [row for row in changes.rows if row.is_moved]
    kinds = ", ".join(f"{count} {kind}" for kind, count in changes.kinds.items())
    yield Text(f"{changes.suite} {changes.suite_version}: {len(moved)} of {len(changes.rows)} rows move", "bold")
    yield Text(f"{sum(changes.kinds.values())} verdicts flip" + (f": {kinds}" if kinds else ""))
    yield Text(
        f"{changes.given} judged again, {changes.gone} gone, {changes.reasoned} the same for another reason", "dim"
    )
    if moved:
        yield _rows(moved)
    for flip in changes.flips:
        yield _flip(flip)


def _rows(moved: Sequence[RowChange]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in _HEADS:
        table.add_column(name, justify="left" if name == "row" else "right", no_wrap=True)
    for row in moved:
        pairs = zip(_cells(row.before), _cells(row.after), strict=True)
        table.add_row(Text(printable(row.submission)), *(text for pair in pairs for text in pair))
    return table


def _cells(place: BoardPosition | None) -> tuple[str, str, str, str]:
    if place is None:
        return "–", "–", "–", "–"
    low, high = place.rank_low, place.rank_high
    rank = "–" if low is None else f"{low}" if low == high else f"{low}–{high}"
    return f"{place.accuracy:.3f}", rank, f"{place.passed}/{place.asked}", str(place.undecided)


def _flip(flip: VerdictChange) -> Text:
    rank = f" --rank {flip.rank}" if flip.rank > 1 else ""
    head = (
        f"{flip.task}  {flip.submission}{rank}  {flip.before.outcome} → {flip.after.outcome}  ({'; '.join(flip.why)})"
    )
    given = "no command" if flip.command is None else flip.command.decode(errors="backslashreplace")
    lines = [head, f"  {given}", f"  before: {_found(flip.before)}", f"  after:  {_found(flip.after)}"]
    return Text("\n".join(map(printable, lines)))


def _found(finding: Finding) -> str:
    step = f"{finding.step.value}: " if finding.step else ""
    return f"{step}{finding.reason}"[:300] or "–"


def contested_list(verdicts: Sequence[Contested]) -> RenderableType:
    """Render every undecided verdict with the commands that a maintainer can run to decide it."""
    if not verdicts:
        return Text("no published verdict is undecided")
    head = f"{len(verdicts)} undecided; a ruling applies to every submission with the command"
    return Group(Text(head, "bold"), *map(_contested, verdicts))


def _contested(verdict: Contested) -> Text:
    givers = ", ".join(
        each.submission + (f" (number {each.rank})" if each.rank > 1 else "") for each in verdict.given_by
    )
    step = f"{verdict.step.value}: " if verdict.step else ""
    variant = f", in variant {verdict.variant}" if verdict.variant else ""
    lines = [
        f"{verdict.suite} {verdict.task}: {verdict.instruction}",
        f"  {verdict.command.decode(errors='backslashreplace')}",
        f"  open: {step}{verdict.reason[:300]}{variant}",
        f"  by {givers}; a ruling moves {pluralize(verdict.rows, 'row')}",
        f"  $ {verdict.explain}",
        f"  $ {verdict.adjudicate}",
        *([f"  {verdict.appeal}"] if verdict.appeal else []),
    ]
    return Text("\n".join(map(printable, lines)))
