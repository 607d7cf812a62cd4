"""Find words of an instruction that fix the form of the answer's lines: a closed list of patterns.

If an instruction has such words, and all references print the same lines, the judge compares lines and not fields. In
all other tasks, the judge accepts any layout of the same fields. Similar words often describe the input: `names.txt
holds one name per line` says nothing about the answer. So each pattern has a test of the words before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

_ASKS: Final = re.compile(r"\b(print|show|give|list|write|output|display|name|find|tell|which|what|who)\b", re.I)
_HOLDS: Final = re.compile(r"(?<=\w )(holds?|contains?|lists|names|has|have|stores?|keeps?|with)\b", re.I)
_HOLDS_HERE: Final = re.compile(rf"{_HOLDS.pattern}\s+(\w+\s+)?$", re.I)
_RELATIVE: Final = re.compile(r"\b(that|which|who|whose)\b[^,]*$", re.I)
_SENTENCE_END: Final = re.compile(r"(?<=[.?!;])\s+")
_ORDER: Final = re.compile(
    r"\b(sorted|alphabetical(ly)?|chronological(ly)?|ordered by"
    r"|in (the same|this|that|reverse|numerical|ascending|descending) order)\b",
    re.IGNORECASE,
)


class _Pattern(NamedTuple):
    """A pattern for words of form, and a test that accepts or refuses the words before them in the sentence."""

    words: re.Pattern[str]
    accepts: Callable[[str], bool]


def _asks(before: str) -> bool:
    return _ASKS.search(before) is not None


def _describes_no_input(before: str) -> bool:
    """Return whether the words before "one per line" do not say that a file holds lines of this kind."""
    return not _HOLDS_HERE.search(before) and (_asks(before) or not _HOLDS.search(before))


def _is_no_clause(before: str) -> bool:
    return not _RELATIVE.search(before)


WORDS_OF_FORM: Final = {
    "the start of paths": _Pattern(
        re.compile(
            r"(?<!whose )(?<!with )\b(paths?|names?)([^:]*,)?\s+\(?(start|begin)(n?ing|s)? with\b", re.IGNORECASE
        ),
        lambda before: True,
    ),
    "an example of a line": _Pattern(
        re.compile(
            r"""(, (like|as in|such as|for example|e\.g\.)|\bin the (form|format|style)( of)?) """
            r"""["'“‘`][^"”’`]+["'”’`](?=\s*([.;?)]|, (one|each|a)\b|$))""",
            re.IGNORECASE,
        ),
        _asks,
    ),
    "a line for each item": _Pattern(
        re.compile(
            r"\b(one|each) (\w+ )?per line\b|\bone line (for|per) \w+|\beach on (a|its own|one)\b[^,]*\bline\b"
            r"|\ba line (for |per )?each\b",
            re.IGNORECASE,
        ),
        _describes_no_input,
    ),
    "no heading": _Pattern(
        re.compile(r"\b(without|no) ([^.;?]*[ ,])?(heading|header|title|total)s?\b", re.IGNORECASE), _is_no_clause
    ),
}
"""The patterns by name. All other words leave the form of the answer open."""


def words_of_form(instruction: str) -> Iterator[str]:
    """Yield the name of each pattern that the instruction contains."""
    for sentence in _SENTENCE_END.split(instruction):
        for name, pattern in WORDS_OF_FORM.items():
            if any(pattern.accepts(sentence[: match.start()]) for match in pattern.words.finditer(sentence)):
                yield name


def fixes_form(instruction: str) -> bool:
    """Return whether an instruction fixes the form of the answer's lines.

    >>> fixes_form('Print the size and the name of each file, like "4096 notes.txt".')
    True
    >>> fixes_form("colours.txt holds one colour per line. Print the longest one.")
    False
    """
    return any(True for _ in words_of_form(instruction))


def asks_for_order(instruction: str) -> bool:
    """Return whether an instruction asks for an order."""
    return _ORDER.search(instruction) is not None
