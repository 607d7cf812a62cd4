"""This module describes the effect of a rescore in Markdown for a pull request: moved rows, flips and reasons.

A rescore judges published submissions again. A flip is a verdict whose outcome changed. All text in the record of
changes is untrusted and appears in code spans. If the text is too long for GitHub, the longest sections are omitted and
listed at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from evaluator.github.comment.markdown import cell, code, table
from evaluator.github.comment.sections import LENGTH, Section, fit_sections
from evaluator.records import BoardPosition, Finding, RowChange, SuiteDiff, VerdictChange, VerdictDiff
from evaluator.wording import pluralize

ROWS: Final = 100
"""The maximum number of rows listed for a suite. The tables of flips cover the others."""
FLIPS: Final = 60
"""The maximum number of flips listed for each kind."""

_ALL: Final = "`bashboard publish changes --against BASE` shows everything, with `--json` for a program."
_FLIP_HEADS: Final = ("Task", "Submission", "Command", "Before", "After", "Why")


def rescore_table(changes: VerdictDiff, limit: int = LENGTH) -> str:
    """Return the effect of a rescore (moved rows and changed verdicts) as Markdown of at most `limit` bytes."""
    if not changes.suites:
        return "No published verdict changes.\n"
    sections = [section for suite in changes.suites for section in _suite(suite)]
    return fit_sections(sections, _ALL, limit)


def _suite(changes: SuiteDiff) -> Iterator[Section]:
    name = code(f"{changes.suite} {changes.suite_version}", 120)
    moved = [row for row in changes.rows if row.is_moved]
    yield Section(f"### {name}\n\n{_summary(changes, moved)}")
    if moved:
        yield Section(_rows(moved), f"the rows of {name}")
    for kind in changes.kinds:
        flips = [flip for flip in changes.flips if f"{flip.before.outcome} → {flip.after.outcome}" == kind]
        if flips:
            yield Section(_flips(kind, flips), f"the flips {code(kind, 80)} of {name}")


def _summary(changes: SuiteDiff, moved: Sequence[RowChange]) -> str:
    flips = sum(changes.kinds.values())
    lines = [
        f"**{len(moved)} of {pluralize(len(changes.rows), 'row')}** {'moves' if len(moved) == 1 else 'move'}, and "
        f"**{pluralize(flips, 'verdict')}** {'flips' if flips == 1 else 'flip'}."
    ]
    lines += [f"- {code(kind, 80)}: {count}" for kind, count in changes.kinds.items()]
    others = {
        "new verdicts": changes.given,
        "removed verdicts": changes.gone,
        "verdicts with the same outcome for another reason": changes.reasoned,
    }
    lines += [f"- {name}: {count}" for name, count in others.items() if count]
    return "\n".join([lines[0], "", *lines[1:]]).rstrip()


def _rows(moved: Sequence[RowChange]) -> str:
    heads = ("Row", "Accuracy before", "after", "Rank before", "after", "Passed before", "after", "Undecided", "after")
    rows = [[cell(row.submission, 80), *_pairs(row)] for row in moved[:ROWS]]
    more = f"\n\n… and {pluralize(len(moved) - ROWS, 'more row')}." if len(moved) > ROWS else ""
    return table(heads, rows) + more


def _pairs(row: RowChange) -> list[str]:
    """Return the table cells of a changed board row. Each number has two cells: before and after the rescore."""
    return [text for pair in zip(_numbers(row.before), _numbers(row.after), strict=True) for text in pair]


def _numbers(position: BoardPosition | None) -> tuple[str, ...]:
    if position is None:
        return ("–",) * 4
    low, high = position.rank_low, position.rank_high
    rank = "–" if low is None else f"{low}" if low == high else f"{low}–{high}"
    passed = f"{position.passed} of {position.asked}"
    return f"{100 * position.accuracy:.1f} %", rank, passed, str(position.undecided)


def _flips(kind: str, flips: Sequence[VerdictChange]) -> str:
    """Return a table of flips (changed verdicts). A reason that all flips share appears only once, above the table."""
    is_shared = len({flip.why for flip in flips}) == 1
    heads = _FLIP_HEADS[:-1] if is_shared else _FLIP_HEADS
    lines = [f"| {' | '.join(heads)} |", f"|{' :-- |' * len(heads)}"]
    lines += [f"| {' | '.join(_flip(flip)[: len(heads)])} |" for flip in flips[:FLIPS]]
    why = f"Why: {_why(flips[0], code)}.\n\n" if is_shared else ""
    more = f"\n\n… and {pluralize(len(flips) - FLIPS, 'more flip')}. {_ALL}" if len(flips) > FLIPS else ""
    return f"#### {code(kind, 80)}\n\n{why}" + "\n".join(lines) + more


def _flip(flip: VerdictChange) -> tuple[str, ...]:
    rank = f" ({flip.rank})" if flip.rank > 1 else ""
    command = "no command" if flip.command is None else _command(flip.command, flip.size)
    return (
        cell(flip.task, 80),
        f"{cell(flip.submission, 80)}{rank}",
        command,
        _finding(flip.before),
        _finding(flip.after),
        _why(flip, cell),
    )


def _why(flip: VerdictChange, escape: Callable[[str, int], str]) -> str:
    return "; ".join(escape(reason, 120) for reason in flip.why)


def _command(command: bytes, size: int) -> str:
    shown = cell(command.decode(errors="backslashreplace"), 100)
    return f"{shown} of {size:,} bytes" if size > len(command) else shown


def _finding(finding: Finding) -> str:
    parts = [finding.step.value] if finding.step else []
    parts += [cell(finding.reason, 140)] if finding.reason else []
    return ": ".join(parts) or "–"
