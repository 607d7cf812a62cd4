"""Functions for terminal tables of standings and comparisons. Hidden characters in submissions' texts are escaped."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from evaluator.escaping import printable
from evaluator.wording import format_p_value, pluralize

if TYPE_CHECKING:
    from evaluator.leaderboard.board import SuiteBoard
    from evaluator.records import Finding, PairTally, SubmissionComparison


def standings_table(board: SuiteBoard, width: int) -> Group:
    """Return a table of one suite's standings, with notes below. Omit columns to keep it within `width` characters."""
    table = Table(
        title=f"{board.manifest.title} {board.manifest.version}", title_justify="left", box=None, pad_edge=False
    )
    columns = board.terminal_columns(width)
    for cell, _ in columns:
        table.add_column(cell.title, justify="left" if cell.left else "right", no_wrap=True)
    for row in zip(*(texts for _, texts in columns), strict=True):
        table.add_row(*map(Text, row))
    return Group(table, *(Text(line, "dim") for line in _notes(board, {cell.title for cell, _ in columns})))


def _notes(board: SuiteBoard, shown: Collection[str]) -> Iterator[str]:
    """Yield a note on the omitted rows, and the explanations of the columns that are shown."""
    if board.whole:
        lacking = f"{pluralize(board.unknown, 'other lacks', 'others lack')} verdicts on this machine"
        ranks = f"; no rank is known, because {lacking}" if board.unknown else ", ranked among all"
        yield f"{len(board.standings)} of {board.whole:,} shown{ranks}"
    if "group" in shown and any(row.tie_group for row in board.standings):
        yield "group: its systems do not differ significantly from the best of it (McNemar, exact; Holm)"
    if board.resolution is not None and board.resolution.difference is not None:
        least = 100 * board.resolution.difference
        yield f"with {board.resolution.tasks} tasks, differences under {least:.1f} points are usually not significant"
    if "judged by" in shown and any(row.judged_by and row.judged_by.differs for row in board.standings):
        yield "judged by: an earlier judge, suite or environment. Wait for the rescore before you compare them"


def comparison_text(comparison: SubmissionComparison) -> Group:
    """Render a comparison of two submissions: how many tasks each passes, and which tasks only one of them passes."""
    left_out = comparison.left_out
    left = f", {left_out} left out (not asked of both, or infra-errors)" if left_out else ""
    systems = f"{comparison.first} (A) and {comparison.second} (B)"
    head = f"{comparison.suite} {comparison.suite_version}: {systems}, {comparison.compared} tasks{left}"
    low, high = 100 * comparison.difference_low, 100 * comparison.difference_high
    verdict = "distinguishable" if comparison.p_value <= 0.05 else "not distinguishable"
    lines = (
        f"difference A - B: {100 * comparison.difference:+.1f} points, 95 % interval {low:+.1f} to {high:+.1f}",
        f"McNemar, exact, two-sided: {format_p_value(comparison.p_value)}: {verdict} by these tasks alone",
    )
    differing = {name: tally for name, tally in comparison.utilities.items() if tally.only_first or tally.only_second}
    parts = [_tallies("", {"all": comparison.counts}), _tallies("topic", comparison.topics)]
    parts += [_tallies("utility, where they differ", differing)] if differing else []
    parts += [_error_classes(comparison)] if comparison.errors else []
    return Group(
        Text(head, "bold"), *parts, *map(Text, lines), *([_discordant(comparison)] if comparison.tasks else []), Text()
    )


def _tallies(title: str, tallies: Mapping[str, PairTally]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(title, min_width=12, no_wrap=True)
    for name in ("both", "only A", "only B", "neither"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, tally in tallies.items():
        counts = (tally.both, tally.only_first, tally.only_second, tally.neither)
        table.add_row(Text(printable(name)), *map(str, counts))
    return table


def _error_classes(comparison: SubmissionComparison) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("class of error", min_width=12, no_wrap=True)
    for name in ("A", "B"):
        table.add_column(name, justify="right", no_wrap=True)
    for kind, pair in comparison.errors.items():
        table.add_row(kind.value, str(pair.first), str(pair.second))
    return table


def _discordant(comparison: SubmissionComparison) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("task", "passed by", "the other"):
        table.add_column(name, no_wrap=name != "the other")
    for pair in comparison.tasks:
        first = pair.first.outcome.value == "pass"
        table.add_row(pair.task, "A" if first else "B", _decided(pair.second if first else pair.first))
    return table


def _decided(finding: Finding) -> Text:
    step = f" ({finding.step.value})" if finding.step else ""
    where = f" at {finding.place.decode('utf-8', 'backslashreplace')}" if finding.place is not None else ""
    return Text(printable(f"{finding.outcome.value}{step}: {finding.reason}{where}"[:300]))
