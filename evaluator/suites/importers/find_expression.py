"""This module reads the expression of a `find` command as alternatives. Each alternative is a list of predicates.

An object is found if it satisfies all predicates of one alternative.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, NamedTuple

MOST_ALTERNATIVES: Final = 4
_OPTIONS: Final = frozenset({"-L", "-H", "-P", "-E", "-X", "-d", "-s", "-x", "-f"})
_WITHOUT_VALUE: Final = re.compile(
    r"-(?:print0?|ls|empty|prune|daystart|depth|d|follow|xdev|mount|nouser|nogroup|readable|writable|executable"
    r"|true|false|noleaf|(?:no)?ignore_readdir_race|(?:no)?warn|quit|delete)"
)
_OR: Final = frozenset({"-o", "-or", ","})


class FindPredicate(NamedTuple):
    """A predicate of `find` with its value. `negated` is true after `!` or `-not`."""

    name: str
    value: str = ""
    negated: bool = False


Alternative = tuple[FindPredicate, ...]


class FindExpression(NamedTuple):
    """The folders that `find` searches, as written, and the alternatives of its expression."""

    roots: tuple[str, ...]
    alternatives: tuple[Alternative, ...]


@dataclass(slots=True)
class _UnreadWords:
    """The words of an expression that have not been read yet."""

    left: list[str]

    def next_is(self, words: frozenset[str]) -> bool:
        return bool(self.left) and self.left[0] in words

    def take(self) -> str:
        return self.left.pop(0)


def read_find_expression(command: str) -> FindExpression | None:
    """Return the expression of a `find` command without other commands. Return None if it cannot be read."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if not words or words[0].rpartition("/")[2] != "find":
        return None
    left = _UnreadWords(words[1:])
    while left.next_is(_OPTIONS):
        left.take()
    roots = list(_roots(left))
    try:
        alternatives = _alternatives(left) if left.left else [()]
    except IndexError:
        return None
    if left.left:
        return None
    return FindExpression(tuple(roots) or (".",), tuple(alternatives[:MOST_ALTERNATIVES]))


def _roots(words: _UnreadWords) -> Iterator[str]:
    while words.left and words.left[0][0:1] not in ("-", "(", "!", ")", ","):
        yield words.take()


def _alternatives(words: _UnreadWords) -> list[Alternative]:
    found = _conjunction(words)
    while words.next_is(_OR):
        words.take()
        found += _conjunction(words)
    return found


def _conjunction(words: _UnreadWords) -> list[Alternative]:
    found: list[Alternative] = [()]
    while words.left and not words.next_is(_OR | {")"}):
        if words.next_is(frozenset({"-a", "-and"})):
            words.take()
            continue
        factors = _factor(words)
        found = [(*one, *other) for one, other in product(found, factors)][: 2 * MOST_ALTERNATIVES]
    return found


def _factor(words: _UnreadWords) -> list[Alternative]:
    if words.next_is(frozenset({"!", "-not"})):
        words.take()
        return [_negated(_factor(words))]
    if words.next_is(frozenset({"("})):
        words.take()
        found = _alternatives(words)
        words.take()
        return found
    name = words.take()
    return [(FindPredicate(name, "" if _WITHOUT_VALUE.fullmatch(name) else words.take()),)]


def _negated(alternatives: Sequence[Alternative]) -> Alternative:
    """Return the opposite of alternatives. All their predicates are negated, so that no alternative holds."""
    return tuple(
        predicate._replace(negated=not predicate.negated) for alternative in alternatives for predicate in alternative
    )
