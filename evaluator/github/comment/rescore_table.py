"""Before and after of a rescore as Markdown, for a pull request's body: who moves, which verdicts flip, and why.

Every text of the record is a stranger's and stands in a code span; all other words are ours. What is too long for
GitHub is left out section by section, the longest first, and named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from evaluator.github.comment.markdown import cell, code, table
from evaluator.github.comment.preview_sections import Section
from evaluator.github.comment.sections import LENGTH, fit_sections
from evaluator.records import BoardPosition, Finding, RowChange, SuiteDiff, VerdictChange, VerdictDiff
from evaluator.wording import pluralize

ROWS: Final = 100
"""Rows told of a suite; the flips tell of which tasks any other moves by."""
FLIPS: Final = 60
"""Flips told one by one of each kind."""

_ALL: Final = "`bashboard publish changes --against BASE` shows all of it, with `--json` for a program."
_FLIP_HEADS: Final = ("Task", "Submission", "Command", "Before", "After", "Why")


def rescore_table(changes: VerdictDiff, limit: int = LENGTH) -> str:
    """The text, of at most `limit` bytes."""
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
        flips = [each for each in changes.flips if _kind(each) == kind]
        if flips:
            yield Section(_flips(kind, flips), f"the flips {code(kind, 80)} of {name}")


def _kind(flip: VerdictChange) -> str:
    return f"{flip.before.outcome} → {flip.after.outcome}"


def _summary(changes: SuiteDiff, moved: Sequence[RowChange]) -> str:
    lines = [
        f"**{len(moved)} of {pluralize(len(changes.rows), 'row')}** {'moves' if len(moved) == 1 else 'move'}, and "
        f"**{pluralize(sum(changes.kinds.values()), 'verdict')}** "
        f"{'flips' if sum(changes.kinds.values()) == 1 else 'flip'}."
    ]
    lines += [f"- {code(kind, 80)}: {count}" for kind, count in changes.kinds.items()]
    others = {
        "given for commands that had none": changes.given,
        "gone": changes.gone,
        "of the same outcome for another reason": changes.reasoned,
    }
    lines += [f"- verdicts {what}: {count}" for what, count in others.items() if count]
    return "\n".join([lines[0], "", *lines[1:]]).rstrip()


def _rows(moved: Sequence[RowChange]) -> str:
    heads = ("Row", "Accuracy before", "after", "Rank before", "after", "Passed before", "after", "Undecided", "after")
    rows = [[cell(row.submission, 80), *_pairs(row)] for row in moved[:ROWS]]
    more = f"\n\n… and {pluralize(len(moved) - ROWS, 'more row')}." if len(moved) > ROWS else ""
    return table(heads, rows) + more


def _pairs(row: RowChange) -> list[str]:
    pairs = [(_accuracy(each), _rank(each), _passed(each), _undecided(each)) for each in (row.before, row.after)]
    return [text for before, after in zip(*pairs, strict=True) for text in (before, after)]


def _accuracy(place: BoardPosition | None) -> str:
    return f"{100 * place.accuracy:.1f} %" if place else "–"


def _passed(place: BoardPosition | None) -> str:
    return f"{place.passed} of {place.asked}" if place else "–"


def _undecided(place: BoardPosition | None) -> str:
    return str(place.undecided) if place else "–"


def _rank(place: BoardPosition | None) -> str:
    if place is None or place.rank_low is None:
        return "–"
    return f"{place.rank_low}" if place.rank_low == place.rank_high else f"{place.rank_low}–{place.rank_high}"


def _flips(kind: str, flips: Sequence[VerdictChange]) -> str:
    """A table; where all flips have one reason it is said once, above."""
    shared = len({each.why for each in flips}) == 1
    heads = _FLIP_HEADS[:-1] if shared else _FLIP_HEADS
    lines = [f"| {' | '.join(heads)} |", f"|{' :-- |' * len(heads)}"]
    lines += [f"| {' | '.join(_flip(each)[: len(heads)])} |" for each in flips[:FLIPS]]
    told = f"Why: {_why(flips[0], code)}.\n\n" if shared else ""
    more = f"\n\n… and {pluralize(len(flips) - FLIPS, 'more flip')}. {_ALL}" if len(flips) > FLIPS else ""
    return f"#### {code(kind, 80)}\n\n{told}" + "\n".join(lines) + more


def _flip(flip: VerdictChange) -> tuple[str, ...]:
    which = f" ({flip.rank})" if flip.rank > 1 else ""
    given = "nothing given" if flip.command is None else _command(flip.command, flip.size)
    return (
        cell(flip.task, 80),
        f"{cell(flip.submission, 80)}{which}",
        given,
        _found(flip.before),
        _found(flip.after),
        _why(flip, cell),
    )


def _why(flip: VerdictChange, written: Callable[[str, int], str]) -> str:
    return "; ".join(written(each, 120) for each in flip.why)


def _command(command: bytes, size: int) -> str:
    shown = cell(command.decode(errors="backslashreplace"), 100)
    cut = size > len(command)
    return f"{shown} of {size:,} bytes" if cut else shown


def _found(finding: Finding) -> str:
    step = f"{finding.step.value}: " if finding.step else ""
    return f"{step}{cell(finding.reason, 140)}" if finding.reason else (finding.step.value if finding.step else "–")
