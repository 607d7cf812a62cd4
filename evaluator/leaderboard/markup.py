"""The HTML that pages are made of: tables, verdicts, intervals, definition lists.

Tables are complete without scripts: a caption, scoped headers, figures in words. What scripts need stands
in data attributes (`data-value` to sort by, `data-facet` on a column whose values can be chosen from). Every
function takes and returns HTML; text is escaped by the caller, with `escaping`.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from evaluator.records import Outcome

MEANING: Mapping[Outcome, str] = {
    Outcome.PASS: "Does what the references do, in every variant of the world.",
    Outcome.FAIL: "Prints or changes something else in at least one variant.",
    Outcome.TIMEOUT: "Did not end within the limit.",
    Outcome.INVALID: "Empty, or the shell itself reports a syntax error.",
    Outcome.UNANSWERED: "The submission gives no command for the task.",
    Outcome.UNDECIDED: "The evidence does not tell; counted as not passed.",
    Outcome.INFRA_ERROR: "Our machinery failed; never a score, tried again.",
}
"""What each verdict says, in a sentence."""


class Column(NamedTuple):
    """A table's column: what sorts it, and whether rows can be chosen by its values."""

    key: str
    title: str
    kind: Literal["text", "number", "none"] = "text"
    note: str = ""
    facet: bool = False


def table(name: str, caption: str, columns: Sequence[Column], rows: Iterable[str], kind: str = "") -> str:
    """A table in a frame that scrolls sideways by itself and can be reached by keyboard."""
    head = "".join(_column_head(column) for column in columns)
    return (
        f'<div class="board-scroll" role="region" aria-labelledby="{name}-caption" tabindex="0">'
        f'<table class="board-table {kind}" id="{name}"><caption id="{name}-caption">{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{''.join(rows)}</tbody></table></div>\n"
    )


def _column_head(column: Column) -> str:
    note = f' <small class="note">{column.note}</small>' if column.note else ""
    facet = " data-facet" if column.facet else ""
    return (
        f'<th scope="col" data-key="{column.key}" data-kind="{column.kind}"{facet}>'
        f'<span class="title">{column.title}</span>{note}</th>'
    )


def row(*cells: str, kind: str = "") -> str:
    """A table row, on a line of its own."""
    css = f' class="{kind}"' if kind else ""
    return f"<tr{css}>{''.join(cells)}</tr>\n"


def head_cell(content: str, value: str | float | None = None) -> str:
    """The cell that names its row."""
    return f'<th scope="row"{_value(value)}>{content}</th>'


def cell(content: str, value: str | float | None = None, kind: str = "") -> str:
    """A cell; `value` is what it sorts by and is chosen by, where that is not its text."""
    css = f' class="{kind}"' if kind else ""
    return f"<td{css}{_value(value)}>{content}</td>"


def number_cell(content: str, value: float | None = None) -> str:
    """A cell of figures, set to line up."""
    return cell(content, value, "number")


def _value(value: str | float | None) -> str:
    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else html.escape(str(value))
    return f' data-value="{text}"'


@functools.cache
def verdict(outcome: Outcome) -> str:
    """A verdict: a word, with colour and form only beside it."""
    return f'<span class="verdict verdict--{outcome.value}">{outcome.value}</span>'


def percent(share: float) -> str:
    """A share as a percentage of one decimal, without the sign."""
    return f"{100 * share:.1f}"


def spread(low: str | int | None, high: str | int | None) -> str:
    """From low to high, or the one figure where they are the same."""
    return f"{low}" if low == high else f"{low}\N{EN DASH}{high}"


def signed(score: float) -> str:
    """A score that may be negative, of three decimals."""
    return f"{score:.3f}".replace("-", "\N{MINUS SIGN}")


def interval(low: float, middle: float, high: float, upper: float) -> str:
    """A bar from 0 to 100 % with an interval, its point and the bound above it; the figures stand beside it."""
    places = f"--low:{100 * low:.1f};--mid:{100 * middle:.1f};--high:{100 * high:.1f};--upper:{100 * upper:.1f}"
    return f'<span class="interval" aria-hidden="true" style="{places}"><i></i><b></b></span>'


def share_bar(share: float) -> str:
    """A small bar of one share; the figures stand beside it."""
    return f'<span class="share" aria-hidden="true" style="--share:{100 * share:.1f}"></span>'


def definitions(pairs: Iterable[tuple[str, str]], kind: str = "facts") -> str:
    """A list of names and values; pairs without a value are left out."""
    items = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in pairs if value)
    return f'<dl class="{kind}">{items}</dl>\n'


def link(address: str, content: str) -> str:
    """A link inside the site; `address` is made of slugs and identifiers."""
    return f'<a href="{html.escape(address)}">{content}</a>'


def downloads(links: Iterable[tuple[str, str]]) -> str:
    """A line of files to take away."""
    items = "".join(f'<li><a href="{address}" download>{title}</a></li>' for address, title in links)
    return f'<ul class="downloads" aria-label="Downloads">{items}</ul>\n'
