"""This module formats p-values, times, numbers with nouns, and quoted values, for terminals, comments and pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

EXCERPT_LENGTH: Final = 60
"""Length of a value of unknown origin in a message, in characters."""


def pluralize(number: int, singular: str, plural: str = "") -> str:
    """Return a number with a noun, which is in the plural unless the number is 1.

    >>> pluralize(1, "line"), pluralize(1200, "line"), pluralize(0, "reply", "replies")
    ('1 line', '1,200 lines', '0 replies')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def format_duration(seconds: float) -> str:
    """Return a time in the largest units that fit.

    >>> format_duration(59.6), format_duration(249), format_duration(4800)
    ('1 min', '4 min', '1 h 20 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def format_p_value(value: float | None) -> str:
    """Return a p-value with three decimals, or `p < 0.001` for a smaller value. If there is no p-value, return ""."""
    if value is None:
        return ""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def name_hint(name: str, names: Iterable[str], listing: str) -> str:
    """Return the end of an error message about an unknown name: the nearest of `names`, and where to see the rest.

    The names that begin with `name` are the nearest. `listing` is the command, or the folder, that shows all names. If
    no name is near, return the first three.

    >>> name_hint("goood", ["bad", "good", "lazy"], "bashboard standings")
    '; did you mean good? … 2 more: bashboard standings'
    >>> name_hint("tfidf", ["rules", "tfidf-retrieval"], "bashboard standings")
    '; did you mean tfidf-retrieval? … 1 more: bashboard standings'
    """
    import difflib

    known = [_without_controls(each) for each in names]
    lower = name[:EXCERPT_LENGTH].lower()  # all our names are in lower case
    begun = [each for each in known if lower and each.startswith(lower)][:3]
    near = begun or difflib.get_close_matches(lower, known, 3)
    if near:
        text = f"; did you mean {' or '.join([', '.join(near[:-1]), near[-1]] if near[1:] else near)}?"
    elif len(known) < 2:
        return f"; the only one is {known[0]}" if known else "; there are none"
    else:
        text = f"; there are: {', '.join(known[:3])}"
    rest = len(known) - len(near or known[:3])
    return f"{text} … {rest:,} more: {listing}" if rest else text


def _without_controls(text: str) -> str:
    """Return a name with escapes for characters that could act on a terminal."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)


def excerpt(text: str, length: int = EXCERPT_LENGTH) -> str:
    """Return a text of unknown origin in quotes and with escapes. A text above `length` characters loses its middle."""
    if len(text) > length:
        text = f"{text[: length - 20]}…{text[-19:]}"
    return repr(text)  # published verdicts hold this text, so its escapes must not change
