"""Tables for a terminal. Names that a submission chose are shown with their control characters made visible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from evaluator.printable import printable

if TYPE_CHECKING:
    from evaluator.leaderboard.board import SuiteBoard
    from evaluator.records import Standing


def _rank(row: Standing) -> str:
    if row.rank_low is None:
        return "–"
    return f"{row.rank_low}" if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"


WIDE = 150
"""Columns of a terminal from which on topics have room beside the rest."""


def standings_table(board: SuiteBoard, width: int) -> Table:
    """One suite's standings; accuracy by topic stands there too where `width`, in columns, has room for it."""
    topics = sorted({topic for row in board.standings for topic in row.topics}) if width >= WIDE else []
    table = Table(
        title=f"{board.manifest.title} {board.manifest.version}", title_justify="left", box=None, pad_edge=False
    )
    for name in ("rank", "submission", "accuracy", "95 % interval", "undecided", "NLC2CMD", *topics):
        table.add_column(name, justify="left" if name == "submission" else "right", no_wrap=True)
    for row in board.standings:
        tallies = [row.topics.get(topic) for topic in topics]
        table.add_row(
            _rank(row),
            Text(printable(row.submission)),
            f"{row.accuracy:.3f}",
            f"{row.accuracy_low:.3f}–{row.accuracy_high:.3f}",
            str(row.undecided),
            f"{row.nlc2cmd:+.3f}",
            *(f"{tally.passed}/{tally.asked}" if tally else "" for tally in tallies),
        )
    return table
