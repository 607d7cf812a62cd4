"""Read a regular expression as an automaton, with one state for each part of the pattern that consumes a character.

Python's own parser reads the pattern. A set of characters is an integer with one bit for each of `SAMPLES`. The
automaton can have paths that the matcher does not have, but it has all paths of the matcher.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from re import _compiler, _parser  # type: ignore[attr-defined]
from re import _constants as code  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple

SAMPLES: Final = [*map(chr, range(256)), *"ıſ\u0301\u0660\u2028\u4e00\U0001f600"]
"""Characters of all kinds that patterns distinguish."""

EVERY: Final = (1 << len(SAMPLES)) - 1

LONG: Final = 1000
"""A repetition with this limit, or a greater one, counts as one without a limit."""

_COPIES: Final = 3
"""The automaton has no more copies than this of a part that the pattern repeats a limited number of times."""

_REPEATS: Final = {code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT}
_CONSUMING: Final = {code.LITERAL, code.NOT_LITERAL, code.ANY, code.IN}
_ENDS: Final = {code.AT_END, code.AT_END_STRING}

_SETS: Final[dict[tuple[str, int, bool], int]] = {}
"""The sets of characters that items accept, by item, flags, and whether the pattern is a text."""

Item = tuple[Any, Any]
"""An operation of a parsed pattern with its value."""


class Guard(NamedTuple):
    """A condition on the characters before and after a place: they are in one of the pairs of sets.

    `can_fail` is false if the matcher can also go on there without a condition, in another way.
    """

    pairs: tuple[tuple[int, int], ...]
    can_fail: bool = True

    def __and__(self, other: Guard) -> Guard:
        pairs = ((a & c, b & d) for a, b in self.pairs for c, d in other.pairs if a & c and b & d)
        return Guard(tuple(pairs), self.can_fail or other.can_fail)

    def __or__(self, other: Guard) -> Guard:
        return Guard((*self.pairs, *other.pairs), self.can_fail and other.can_fail)

    def allows(self, before: int, after: int) -> bool:
        """Return whether the condition holds between two samples, which are given by number."""
        return any(one >> before & 1 and other >> after & 1 for one, other in self.pairs)


FREE: Final = Guard(((EVERY, EVERY),), can_fail=False)
NEVER: Final = Guard(())


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A part of a pattern that consumes one character of a set, and the atomic groups around the part."""

    accepts: int
    atomic: frozenset[int]


@dataclass(slots=True)
class Fragment:
    """A part of the automaton: its first and last states with the conditions before and after them.

    `empty` is the condition under which the part consumes nothing, or None if it always consumes something.
    """

    first: dict[State, Guard] = field(default_factory=dict)
    last: dict[State, Guard] = field(default_factory=dict)
    empty: Guard | None = FREE


class Automaton:
    """The automaton of one pattern.

    edges     the condition of each way from one state directly to another
    repeated  the edges that stand for more than one way
    first     the conditions of the states that can be first
    ending    the states after which the match can end, whatever text follows
    every     the set of all characters, or of all bytes
    anchored  whether a search tries the beginning of the text alone
    """

    def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
        flags = re.compile(pattern, flags).flags
        tree = _parser.parse(pattern, flags)
        self._is_text = isinstance(pattern, str)
        self._parsed = tree.state
        self._atomic = 0
        self.edges: dict[tuple[State, State], Guard] = {}
        self.repeated: set[tuple[State, State]] = set()
        whole = self._sequence(tree, flags, frozenset())
        self.first = whole.first
        self.ending = {state for state, guard in whole.last.items() if not guard.can_fail}
        self.every = EVERY if self._is_text else (1 << 256) - 1
        self.anchored = _is_anchored(tree, flags)

    def _set(self, item: Item, flags: int) -> int:
        """Return the set of characters that one item accepts."""
        key = (repr(item), flags, self._is_text)
        if key not in _SETS:
            part = _compiler.compile(_parser.SubPattern(self._parsed, [item]), flags)
            samples: Iterable[str | bytes] = SAMPLES if self._is_text else (bytes([number]) for number in range(256))
            _SETS[key] = sum(1 << number for number, sample in enumerate(samples) if part.fullmatch(sample))
        return _SETS[key]

    def _sequence(self, items: Iterable[Item], flags: int, atomic: frozenset[int]) -> Fragment:
        result = Fragment()
        for item in items:
            result = self._then(result, self._item(item, flags, atomic))
        return result

    def _item(self, item: Item, flags: int, atomic: frozenset[int]) -> Fragment:
        operation, value = item
        if operation in _REPEATS:
            return self._repeat(operation, value, flags, atomic)
        if operation is code.SUBPATTERN:
            return self._sequence(value[3], (flags | value[1]) & ~value[2], atomic)
        if operation is code.ATOMIC_GROUP:
            return self._sequence(value, flags, self._inner(atomic))
        if operation in (code.BRANCH, code.GROUPREF_EXISTS):
            branches = value[1] if operation is code.BRANCH else value[1:]
            return _choice([self._sequence(branch or (), flags, atomic) for branch in branches])
        if operation is code.GROUPREF:
            return self._loop(_consuming(EVERY, atomic))
        if operation is code.AT:
            return Fragment(empty=self._place(value, flags))
        if operation in (code.ASSERT, code.ASSERT_NOT):
            return self._assertion(operation, value, flags, atomic)
        return _consuming(self._set(item, flags), atomic)

    def _inner(self, atomic: frozenset[int]) -> frozenset[int]:
        self._atomic += 1
        return atomic | {self._atomic}

    def _then(self, one: Fragment, other: Fragment) -> Fragment:
        self._connect(one.last, other.first)
        result = Fragment(dict(one.first), dict(other.last), None)
        if one.empty:
            result.first |= {state: one.empty & guard for state, guard in other.first.items()}
        if other.empty:
            result.last |= {state: guard & other.empty for state, guard in one.last.items()}
        if one.empty and other.empty:
            result.empty = one.empty & other.empty
        return result

    def _connect(self, last: dict[State, Guard], first: dict[State, Guard]) -> None:
        for source, before in last.items():
            for target, after in first.items():
                edge, guard = (source, target), before & after & Guard(((EVERY, target.accepts),))
                if guard.pairs and edge in self.edges:
                    self.repeated.add(edge)
                    guard |= self.edges[edge]
                if guard.pairs:
                    self.edges[edge] = guard

    def _loop(self, part: Fragment) -> Fragment:
        """Repeat a part without a limit. Zero times are enough."""
        self._connect(part.last, part.first)
        return Fragment(part.first, part.last)

    def _repeat(self, operation: Any, value: tuple[Any, Any, Any], flags: int, atomic: frozenset[int]) -> Fragment:
        least, most, content = value
        inner = self._inner(atomic) if operation is code.POSSESSIVE_REPEAT else atomic
        result = Fragment()
        if most is code.MAXREPEAT or most >= LONG:
            result = self._loop(self._sequence(content, flags, inner))
            if operation is code.POSSESSIVE_REPEAT:
                _leave_late(result)
        else:
            for _ in range(min(most - least, _COPIES)):  # a copy can only follow the copies before it
                result = _choice([Fragment(), self._then(self._sequence(content, flags, inner), result)])
        for _ in range(min(least, _COPIES)):
            result = self._then(self._sequence(content, flags, inner), result)
        return result

    def _place(self, place: Any, flags: int) -> Guard:
        """Return the condition of an anchor or of a word's boundary."""
        if place is code.AT_BEGINNING and flags & re.MULTILINE:
            return Guard(((1 << ord("\n"), EVERY),))
        if place is code.AT_END:
            return Guard(((EVERY, 1 << ord("\n")),))
        if place in (code.AT_BEGINNING, code.AT_BEGINNING_STRING, code.AT_END_STRING):
            return NEVER
        word = self._set((code.IN, [(code.CATEGORY, code.CATEGORY_WORD)]), flags)
        other = EVERY & ~word
        return Guard(((word, other), (other, word)) if place is code.AT_BOUNDARY else ((word, word), (other, other)))

    def _assertion(self, operation: Any, value: tuple[int, Any], flags: int, atomic: frozenset[int]) -> Fragment:
        """Return the condition of an assertion on one character. A longer one becomes states that lead nowhere."""
        direction, content = value
        accepts = self._one_character(content, flags)
        if accepts is not None:
            accepts = accepts if operation is code.ASSERT else EVERY & ~accepts
            return Fragment(empty=Guard(((accepts, EVERY) if direction < 0 else (EVERY, accepts),)))
        first = {} if direction < 0 else self._sequence(content, flags, self._inner(atomic)).first
        return Fragment(first, empty=Guard(FREE.pairs))

    def _one_character(self, content: Any, flags: int) -> int | None:
        """Return the set of an assertion on one character or the end of the text, or None for another assertion."""
        if len(content) != 1:
            return None
        operation, value = content[0]
        if operation is code.BRANCH:
            sets = [self._one_character(branch, flags) for branch in value[1]]
            known = [one for one in sets if one is not None]
            return functools.reduce(operator.or_, known) if len(known) == len(sets) else None
        if operation is code.AT and value is code.AT_END_STRING:
            return 0
        return self._set(content[0], flags) if operation in _CONSUMING else None


def _consuming(accepts: int, atomic: frozenset[int]) -> Fragment:
    state = State(accepts, atomic)
    return Fragment({state: FREE}, {state: FREE}, None)


def _choice(parts: Iterable[Fragment]) -> Fragment:
    result = Fragment(empty=None)
    for part in parts:
        result.first |= part.first
        result.last |= part.last
        if part.empty:
            result.empty = result.empty | part.empty if result.empty else part.empty
    return result


def _leave_late(loop: Fragment) -> None:
    """Let a possessive loop end only before a character that cannot be another repetition by itself."""
    whole = [state for state, guard in loop.first.items() if guard == FREE and not loop.last.get(state, NEVER).can_fail]
    others = EVERY
    for state in whole:
        others &= ~state.accepts
    leave = Guard(((EVERY, others),), can_fail=False)
    loop.last = {state: guard & leave for state, guard in loop.last.items()}
    loop.empty = leave


def _is_anchored(tree: Iterable[Item], flags: int) -> bool:
    nothing: Item = (None, None)
    operation, value = next(iter(tree), nothing)
    if operation is code.SUBPATTERN:
        return _is_anchored(value[3], flags)
    if operation is code.BRANCH:
        return all(_is_anchored(branch, flags) for branch in value[1])
    if value is code.AT_BEGINNING:
        return not flags & re.MULTILINE
    return operation is code.AT and value is code.AT_BEGINNING_STRING
