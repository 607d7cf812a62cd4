"""Tables for a terminal. Names that a submission chose are shown with their control characters made visible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from evaluator.escaping import printable

if TYPE_CHECKING:
    from evaluator.leaderboard.board import SuiteBoard
    from evaluator.records import Finding, PairTally, Standing, SubmissionComparison

ROOMY = 140
"""Columns of a terminal from which on it is said why a system is in its tie group."""
WIDE = 230
"""Columns of a terminal from which on topics have room beside the rest."""

_UNRANKED = {
    "control": "not ranked: a control of the board",
    "not-asked": "not ranked: answers an earlier version",
    "infra-errors": "not ranked: infra-errors, which are ours",
}
_LEFT = {"submission", "why there", "judged by", "task"}


def _rank(row: Standing) -> str:
    if row.rank_low is None:
        return "–"
    return f"{row.rank_low}" if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"


def p_text(value: float) -> str:
    """A p-value of three decimals, and no nearer to nothing than a thousandth."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _why(row: Standing) -> str:
    if row.unranked is not None:
        if row.judged_by and row.unranked.value == "infra-errors":
            return "not ranked: verdicts are not published yet"
        left = f" ({row.not_asked} tasks not asked)" if row.not_asked else ""
        return _UNRANKED[row.unranked.value] + left
    if row.compared_with is None or row.p_adjusted is None:
        return "the best"
    verb = "told apart from" if row.p_adjusted <= 0.05 else "tied with"
    return f"{verb} {row.compared_with}, {row.only_this} : {row.only_other}, {p_text(row.p_adjusted)}"


def _judged_by(row: Standing) -> str:
    """What of a published row's verdicts is not as it is today."""
    if row.judged_by is None or not row.judged_by.differs:
        return ""
    by = row.judged_by
    said = {"judge": f"{by.judge} {by.judge_version}", "suite": f"{row.suite} {by.suite_version}"}
    said["environment"] = f"environment {by.fingerprint[:8]}"
    return ", ".join(printable(said[name]) for name in by.differs)


def standings_table(board: SuiteBoard, width: int) -> Group:
    """One suite's standings, with tie groups, and what the board tells apart. Why a system is in its group, and
    accuracy by topic, stand there where `width`, in columns, has room for it."""
    topics = sorted({topic for row in board.standings for topic in row.topics}) if width >= WIDE else []
    table = Table(
        title=f"{board.manifest.title} {board.manifest.version}", title_justify="left", box=None, pad_edge=False
    )
    figures = ("accuracy", "95 % interval", "passed", "undecided", "NLC2CMD", "by utility")
    why = ("why there",) if width >= ROOMY else ()
    judged = ("judged by",) if any(map(_judged_by, board.standings)) else ()
    for name in ("group", "rank", "submission", *figures, *judged, *why, *topics):
        table.add_column(name, justify="left" if name in _LEFT else "right", no_wrap=True)
    for row in board.standings:
        weighted = row.figures.utility_weighted
        tallies = [row.topics.get(topic) for topic in topics]
        table.add_row(
            "–" if row.tie_group is None else str(row.tie_group),
            _rank(row),
            Text(printable(row.submission)),
            f"{row.accuracy:.3f}",
            f"{row.accuracy_low:.3f}–{row.accuracy_high:.3f}",
            f"{row.passed}/{row.asked}",
            str(row.undecided),
            f"{row.nlc2cmd:+.3f}",
            "" if weighted is None else f"{weighted:.3f}",
            *([Text(_judged_by(row))] if judged else []),
            *([_why(row)] if why else []),
            *(f"{tally.passed}/{tally.asked}" if tally else "" for tally in tallies),
        )
    return Group(table, *(Text(line, "dim") for line in _notes(board)))


def _notes(board: SuiteBoard) -> Iterator[str]:
    if any(row.tie_group for row in board.standings):
        yield "group: no paired test tells its systems from the best of it (McNemar, exact; Holm); they are tied"
    if board.resolution is not None and board.resolution.difference is not None:
        least = 100 * board.resolution.difference
        yield f"differences under {least:.1f} points are seldom told apart at {board.resolution.tasks} tasks"
    if any(map(_judged_by, board.standings)):
        yield "judged by: what gave these verdicts and is not today's; they await a rescore, and are hard to compare"


def comparison_text(found: SubmissionComparison) -> Group:
    """Two submissions: the four counts, the difference, and the tasks that only one of them passes."""
    left = f", {found.left_out} left out (not asked of both, or infra-errors)" if found.left_out else ""
    head = (
        f"{found.suite} {found.suite_version}: {found.first} (A) and {found.second} (B), {found.compared} tasks{left}"
    )
    low, high = 100 * found.difference_low, 100 * found.difference_high
    verdict = "told apart" if found.p_value <= 0.05 else "not told apart"
    lines = (
        f"difference A - B: {100 * found.difference:+.1f} points, 95 % interval {low:+.1f} to {high:+.1f}",
        f"McNemar, exact, two-sided: {p_text(found.p_value)}: {verdict} by these tasks alone",
    )
    differing = {name: each for name, each in found.utilities.items() if each.only_first or each.only_second}
    parts = [_tallies("", {"all": found.counts}), _tallies("topic", found.topics)]
    parts += [_tallies("utility, where they differ", differing)] if differing else []
    return Group(Text(head, "bold"), *parts, *map(Text, lines), *([_discordant(found)] if found.tasks else []), Text())


def _tallies(title: str, tallies: Mapping[str, PairTally]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(title, min_width=12, no_wrap=True)
    for name in ("both", "only A", "only B", "neither"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, each in tallies.items():
        counts = (each.both, each.only_first, each.only_second, each.neither)
        table.add_row(Text(printable(name)), *map(str, counts))
    return table


def _discordant(found: SubmissionComparison) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("task", "passed by", "the other"):
        table.add_column(name, no_wrap=name != "the other")
    for pair in found.tasks:
        first = pair.first.outcome.value == "pass"
        table.add_row(pair.task, "A" if first else "B", _decided(pair.second if first else pair.first))
    return table


def _decided(finding: Finding) -> Text:
    step = f" ({finding.step.value})" if finding.step else ""
    where = f" at {finding.place.decode('utf-8', 'backslashreplace')}" if finding.place is not None else ""
    return Text(printable(f"{finding.outcome.value}{step}: {finding.reason}{where}"[:300]))
