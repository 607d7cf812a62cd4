"""The registry of the leaderboard's columns: on the page, on a terminal, and in the downloaded CSV file.

A column is one entry of `COLUMNS` with the fields of `Standing` that it shows. The page shows columns in registry
order. Some columns of the page are hidden until a reader selects them. A terminal shows columns in the order of
`TerminalCell.position`. The CSV file has them in the order of the fields of `Standing`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from evaluator.escaping import printable
from evaluator.leaderboard import standing_values as values
from evaluator.leaderboard.formats import APART, decimal, spread
from evaluator.records import Standing, SubmissionMetrics, Tier
from evaluator.wording import format_p_value

TIERS: Final = 100
"""Width of a terminal, in columns, from which on it has room for tiers."""
ROOMY: Final = 140
"""Width of a terminal, in columns, from which on it has room for the reason of a tie group."""
WIDE: Final = 230
"""Width of a terminal, in columns, from which on it has room for topics."""
GAP: Final = "  "
"""The text between two columns on a terminal."""
ESSENTIAL: Final = 2
"""The highest priority of a column that stays on every terminal."""


@dataclass(frozen=True, slots=True)
class PageCell:
    """A column of the table on the leaderboard page.

    `macro` names the macro of `leaderboard_cells.html` that shows a cell of the column. `value` returns the value of a
    cell. The browser sorts the rows by this value. A column that is not `shown` is hidden until a reader selects it. A
    column with the same value in all rows is left out unless it is `fixed`.
    """

    macro: str
    title: str
    value: Callable[[Standing], str | float | None]
    kind: Literal["text", "number"] = "number"
    note: str = ""
    style: str = "number"
    shown: bool = False
    fixed: bool = False

    def varies(self, standings: Sequence[Standing]) -> bool:
        """Return whether the column distinguishes rows. The column of a single row must have a value."""
        found = {self.value(standing) for standing in standings}
        return self.fixed or len(found) > 1 or (len(standings) == 1 and not found & {None, ""})


@dataclass(frozen=True, slots=True)
class TerminalCell:
    """A column of the standings on a terminal. A `sparse` column is omitted if all its cells are empty.

    Columns go from left to right by `position`. If the terminal is too narrow, those with the highest `priority` are
    omitted first, and all columns of one priority together.
    """

    position: int
    priority: int
    title: str
    text: Callable[[Standing], str]
    left: bool = False
    min_width: int = 0
    sparse: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the leaderboard. `fields` lists the fields of `Standing` that it adds to the CSV file.

    A field inside another field has a dot in its name, such as `figures.template_at`.
    """

    key: str
    page: PageCell | None = None
    terminal: TerminalCell | None = None
    fields: tuple[str, ...] = ()


def _reason(standing: Standing) -> str:
    """Return the reason why a submission is in its tie group or is not ranked."""
    if standing.unranked is not None:
        if standing.judged_by and standing.unranked.value == "infra-errors":
            return "not ranked: verdicts are not published yet"
        left = f" ({standing.not_asked} tasks not asked)" if standing.not_asked else ""
        return _UNRANKED[standing.unranked.value] + left
    if standing.rank_low is None:
        return "not known: other submissions lack verdicts"
    if standing.compared_with is None or standing.p_adjusted is None:
        return "the best"
    verb = "distinguishable from" if standing.p_adjusted <= APART else "tied with"
    counts = f"{standing.only_this} : {standing.only_other}"
    return f"{verb} {standing.compared_with}, {counts}, {format_p_value(standing.p_adjusted)}"


_UNRANKED: Final = {
    "control": "not ranked: a control of the board",
    "not-asked": "not ranked: answers an earlier version",
    "infra-errors": "not ranked: infra-errors, which are ours",
}


def _judged_by(standing: Standing) -> str:
    """Return the outdated versions with which a system's published verdicts were made.

    The result names only outdated parts: the judge, the suite or the environment. It also names a base image that
    replaced another distribution.
    """
    judged = standing.judged_by
    if judged is None:
        return ""
    parts = {
        "judge": f"{judged.judge} {judged.judge_version}",
        "suite": f"{standing.suite} {judged.suite_version}",
        "environment": f"environment {judged.fingerprint[:8]}",
    }
    base = [f"on {judged.base}"] if judged.base else []
    return ", ".join(printable(text) for text in [*(parts[name] for name in judged.differs), *base])


def _passed(standing: Standing) -> str:
    """Return the passed tasks of all tasks asked. If tasks are undecided, show the lowest and the highest possible."""
    return f"{spread(standing.passed, standing.passed + standing.undecided)}/{standing.asked}"


def _by_utility(standing: Standing) -> float:
    """Return the utility-weighted accuracy, or -1 if there is none. The value -1 sorts below all others."""
    share = standing.figures.utility_weighted
    return -1 if share is None else share


_METRICS: Final = tuple(
    f"figures.{name}"
    for name in SubmissionMetrics.model_fields
    if name not in {"utility_weighted", "horizon", "utilities", "errors", "latency"}
)
COLUMNS: Final = (
    Column(
        "rank",
        PageCell("rank", "Rank", lambda row: row.rank_low, note="95 % range", shown=True, fixed=True),
        TerminalCell(2, 1, "rank", lambda row: "–" if row.rank_low is None else spread(row.rank_low, row.rank_high)),
        ("rank_low", "rank_high"),
    ),
    Column(
        "system",
        PageCell("system", "System", lambda row: row.submission, kind="text", shown=True, fixed=True),
        TerminalCell(3, 0, "submission", lambda row: printable(row.submission), left=True),
        ("submission", "system"),
    ),
    Column(
        "accuracy",
        PageCell(
            "accuracy",
            "Accuracy",
            lambda row: row.accuracy,
            note="%, 95 % interval",
            style="number accuracy",
            shown=True,
            fixed=True,
        ),
        TerminalCell(4, 2, "accuracy", lambda row: f"{row.accuracy:.3f}"),
        ("accuracy", "accuracy_upper"),
    ),
    Column(
        "interval",
        None,
        TerminalCell(5, 3, "95 % interval", lambda row: f"{row.accuracy_low:.3f}–{row.accuracy_high:.3f}"),
        ("accuracy_low", "accuracy_high"),
    ),
    Column("passed", None, TerminalCell(6, 4, "passed", _passed), ("passed",)),
    Column(
        "delta",
        PageCell("delta", "Δ to leader", lambda row: row.accuracy, note="points", shown=True, fixed=True),
    ),
    Column(
        "group",
        PageCell("group", "Tie group", lambda row: row.tie_group, note="and why", style="tie", shown=True, fixed=True),
        TerminalCell(1, 5, "group", lambda row: "–" if row.tie_group is None else str(row.tie_group)),
        ("tie_group",),
    ),
    Column(
        "cost",
        PageCell("cost", "Cost", lambda row: row.usd_per_task, note="per 1,000 tasks", shown=True),
    ),
    Column(
        "latency-median",
        PageCell("latency", "Latency", lambda row: row.figures.latency_s, note="median", shown=True),
    ),
    Column("tokens", PageCell("tokens", "Tokens", values.tokens_of, note="per task", shown=True)),
    Column("added", PageCell("added", "Added", values.added_of, kind="text", style="date", shown=True)),
    Column(
        "strip",
        PageCell(
            "strip", "Topics", values.weakest_share, note="pale: few passed", style="topics", shown=True, fixed=True
        ),
    ),
    Column(
        "undecided",
        PageCell("undecided", "Undecided", lambda row: row.undecided, note="if all passed"),
        TerminalCell(7, 7, "undecided", lambda row: str(row.undecided)),
        ("undecided",),
    ),
    Column(
        "nlc2cmd",
        PageCell("nlc2cmd", "NLC2CMD", lambda row: row.nlc2cmd, note="−1 to 1"),
        TerminalCell(8, 9, "NLC2CMD", lambda row: f"{row.nlc2cmd:+.3f}"),
        ("nlc2cmd",),
    ),
    Column("tiers", fields=("tiers",)),
    Column("topics", fields=("topics",)),
    Column(
        "by-utility",
        PageCell("by_utility", "By utility", _by_utility, note="%, weighted"),
        TerminalCell(9, 11, "by utility", lambda row: decimal(row.figures.utility_weighted) or ""),
        ("figures.utility_weighted",),
    ),
    Column("asked", PageCell("asked", "Asked", lambda row: row.asked), None, ("asked",)),
    Column(
        "method",
        PageCell("method", "Method", lambda row: row.method.value, kind="text", style=""),
        None,
        ("method", "open_weights"),
    ),
    Column("weights", PageCell("weights", "Weights", values.weights_of, kind="text", style="")),
    Column("size", PageCell("size", "Size", lambda row: row.parameters, note="parameters"), None, ("parameters",)),
    Column("licence", PageCell("licence", "Licence", values.licence_of, kind="text", style=""), None, ("licence",)),
    Column("authors", PageCell("authors", "Authors", values.authors_of, kind="text", style=""), None, ("authors",)),
    Column("models", PageCell("models", "Models", values.models_of, kind="text", style=""), None, ("models",)),
    Column(
        "released", PageCell("released", "Released", values.released_of, kind="text", style="date"), None, ("released",)
    ),
    Column("about", fields=("added", "usd_per_task")),
    Column(
        "judged-by",
        None,
        TerminalCell(10, 6, "judged by", _judged_by, left=True, sparse=True),
        ("judged_by", "answers_of"),
    ),
    Column(
        "reason",
        None,
        TerminalCell(11, 10, "why there", _reason, left=True, min_width=ROOMY),
        ("unranked", "not_asked", "compared_with", "only_this", "only_other", "p_value", "p_adjusted"),
    ),
    Column("board", fields=("format", "suite", "suite_version", "ranked")),
    Column("verdicts", fields=("failed", "timeout", "invalid", "unanswered", "infra_errors")),
    Column("depths", fields=("accuracy_at",)),
    Column("collateral", fields=("collateral",)),
    Column("metrics", fields=_METRICS),
    Column("errors", fields=("figures.errors",)),
    Column("latency", fields=("figures.latency",)),
)
"""The columns of every board. `topics` and `tiers` stand for a column a topic or tier, see `columns_of`."""


def columns_of(standings: Sequence[Standing]) -> Iterator[Column]:
    """Yield the columns of a board, including a column for each tier and each topic of its standings."""
    for column in COLUMNS:
        if column.key == "tiers":
            yield from (_tier_column(*item) for item in tiers_of(standings).items())
        elif column.key == "topics":
            yield from (_topic_column(*item) for item in topics_of(standings).items())
        else:
            yield column


def page_columns(standings: Sequence[Standing]) -> list[tuple[str, PageCell]]:
    """Return the page's columns that distinguish the rows `standings`, each with its key."""
    columns = ((column.key, column.page) for column in columns_of(standings))
    return [(key, cell) for key, cell in columns if cell and cell.varies(standings)]


def topics_of(standings: Sequence[Standing]) -> Mapping[str, int]:
    """Return the topics of a board in alphabetical order, each with its number of tasks."""
    asked: dict[str, int] = {}
    for standing in standings:
        for topic, tally in standing.topics.items():
            asked[topic] = max(asked.get(topic, 0), tally.asked)
    return dict(sorted(asked.items()))


def tiers_of(standings: Sequence[Standing]) -> Mapping[str, int]:
    """Return the tiers of a board from the easiest to the hardest, each with its number of tasks."""
    asked: dict[str, int] = {}
    for standing in standings:
        for tier, own in standing.tiers.items():
            asked[tier] = max(asked.get(tier, 0), own.asked)
    return {tier.value: asked[tier.value] for tier in Tier if tier.value in asked}


def _tier_column(tier: str, asked: int) -> Column:
    def share(standing: Standing) -> float:
        """Return the share of the tier's tasks that a submission passes, or -1 if it was asked none of them."""
        return standing.tiers[tier].accuracy if tier in standing.tiers else -1

    def passed(standing: Standing) -> str:
        own = standing.tiers.get(tier)
        return f"{own.passed}/{own.asked}" if own else ""

    page = PageCell("tier", tier.capitalize(), share, note=f"% of {asked}")
    return Column(f"tier-{tier}", page, TerminalCell(7, 8, tier, passed, min_width=TIERS))


def _topic_column(topic: str, asked: int) -> Column:
    def share(standing: Standing) -> float:
        """Return the share of the topic's tasks that a submission passes, or -1 if it was asked none of them."""
        tally = standing.topics.get(topic)
        return tally.passed / tally.asked if tally and tally.asked else -1

    def passed(standing: Standing) -> str:
        tally = standing.topics.get(topic)
        return f"{tally.passed}/{tally.asked}" if tally else ""

    page = PageCell("topic", topic.capitalize(), share, note=f"% of {asked}")
    return Column(f"topic-{topic}", page, TerminalCell(12, 12, topic, passed, min_width=WIDE))


def terminal_columns(standings: Sequence[Standing], width: int) -> list[tuple[TerminalCell, list[str]]]:
    """Return the columns that fit a terminal of `width` characters, from left to right.

    Each column has one text for each standing, in the order of `standings`. Columns are omitted by their priority until
    the others fit. The submission, its rank and its accuracy always stay.
    """
    cells = [column.terminal for column in columns_of(standings) if column.terminal]
    columns = [(cell, [cell.text(row) for row in standings]) for cell in cells if width >= cell.min_width]
    columns = [(cell, texts) for cell, texts in columns if any(texts) or not cell.sparse]
    taken: list[tuple[TerminalCell, list[str]]] = []
    used = -len(GAP)
    for priority, group in itertools.groupby(sorted(columns, key=_priority), key=_priority):
        added = list(group)
        needed = sum(len(GAP) + max(map(len, (cell.title, *texts))) for cell, texts in added)
        if used + needed <= width or priority <= ESSENTIAL:
            taken += added
            used += needed
    return sorted(taken, key=lambda column: column[0].position)


def _priority(column: tuple[TerminalCell, list[str]]) -> int:
    return column[0].priority


def csv_fields() -> list[str]:
    """Return the names of the fields of `Standing` in the CSV file, in the order of their columns.

    Fields with a single value come first. Then come fields with several values, then the metrics. The judge and the
    earlier submission with the same answers come last.
    """
    depths = ("accuracy_at", "figures.full_command_at", "figures.template_at")
    groups = (*depths, "tiers", "topics", "figures.difficulties")
    origins = ("judged_by", "answers_of")
    plain = (name for name in Standing.model_fields if name not in {*groups, *origins})
    metrics = (field for name in SubmissionMetrics.model_fields if (field := f"figures.{name}") not in groups)
    registered = {field for column in COLUMNS for field in column.fields}
    return [field for field in (*plain, *groups, *metrics, *origins) if field in registered]
