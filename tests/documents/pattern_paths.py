"""Find patterns for which the matcher's work grows faster than the text: with its square, or even exponentially.

Python's matcher tries one path through the pattern after another, until one path reaches the end of the pattern. So
its work is in proportion to the text only if one text has few paths. Two loops of the automaton that accept the same
text, one after the other, are n paths: `a*a*b` for n letters a. Two ways through one loop are 2^n paths: `(a|a)*b`.
A search is a loop too, because it tries each place of the text: `a*b` has n places for n letters a.

No path is tried after a match. So a loop does not count if the match can end in it.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Final

from tests.documents.pattern_automaton import EVERY, FREE, SAMPLES, Automaton, Guard, State


class Use(Enum):
    """The use of a pattern: for the complete text, at one place, at each place until it matches, or for all matches."""

    COMPLETE = "fullmatch"
    AT_ONE_PLACE = "match"
    FIRST = "search"
    ALL = "finditer"


PLACES: Final = State(EVERY, frozenset())
"""The loop of a search over the places of the text."""

Step = tuple[State, ...]
"""One state for each path that is followed at the same time."""

Loop = frozenset[State]
IsGoal = Callable[[Step, bool], bool]
"""A condition on a step. Its second argument is whether two paths have separated."""


def text_with_many_paths(pattern: str | bytes, flags: int, use: Use) -> str | None:
    """Return a text that can have many paths if it is repeated, or None if there is no such text."""
    return Paths(_automaton(pattern, flags), use).many()


_automaton: Final = functools.cache(Automaton)


class Paths:
    """The paths through an automaton that do not end in a match."""

    def __init__(self, automaton: Automaton, use: Use) -> None:
        searches = use in (Use.FIRST, Use.ALL) and not automaton.anchored
        edges: dict[tuple[State, State], Guard] = dict(automaton.edges)
        if searches:
            edges |= {(PLACES, state): guard for state, guard in automaton.first.items()}
        ending = automaton.ending if use is not Use.COMPLETE else _refusing_nothing(automaton)
        self._doubled = {edge for edge in automaton.repeated if not ending & {*edge}}
        self._in_loop = {edge: guard for edge, guard in edges.items() if not ending & {*edge}}
        self._between = edges if use is Use.ALL else self._in_loop
        if searches:
            self._in_loop[PLACES, PLACES] = self._between[PLACES, PLACES] = FREE
        self._after = _successors(self._between)
        self._loops = _loops(self._in_loop)
        self._letters = _letters(self._between)
        before = [one for one, _ in {pair for guard in self._between.values() for pair in guard.pairs}]
        kinds = {letter: tuple(one >> letter & 1 for one in before) for letter in self._letters}
        self._letter_of = {kind: letter for letter, kind in kinds.items()}
        self._kinds = kinds
        self._known: dict[tuple[State, Loop | None, tuple[int, ...], int], list[State]] = {}

    def many(self) -> str | None:
        """Return a text that leads twice through one loop, or through two loops, or None if there is no such text."""
        for loop in self._loops:
            if any(source in loop and target in loop for source, target in self._doubled):
                return "(a loop in a loop)"
            text = self._search({(state, state) for state in loop}, _is_pair_again, (loop, loop))
            if text is not None:
                return text
        return next(self._through_two(), None)

    def _through_two(self) -> Iterator[str]:
        """Yield texts with paths from one state to itself, from there to another state, and from that one to itself."""
        loop_of = {state: loop for loop in self._loops for state in loop}
        for one, first in loop_of.items():
            reached = _reached(one, self._after)
            for other, second in loop_of.items():
                if one is other or other is PLACES or other not in reached or not one.atomic <= other.atomic:
                    continue
                is_goal = _is_at((one, other, other))
                text = self._search({(one, one, other)}, is_goal, (first, None, second))
                if text is not None:
                    yield text

    def _search(self, starts: Iterable[Step], is_goal: IsGoal, within: Sequence[Loop | None]) -> str | None:
        """Return the shortest text on which all paths lead to the goal. `within` limits each path to a loop."""
        nodes: list[tuple[Step, int, bool, str]] = [
            (start, letter, False, "")
            for start in starts
            for letter in self._letters
            if all(state.accepts >> letter & 1 for state in start)
        ]
        queue, seen = deque(nodes), set()
        while queue:
            step, before, split, text = queue.popleft()
            for letter in self._letters:
                targets = [self._targets(*one, self._kinds[before], letter) for one in zip(step, within, strict=True)]
                for following in itertools.product(*targets):
                    is_split = split or (len(following) == 2 and following[0] is not following[1])
                    if is_goal(following, is_split):
                        return f"{text}{SAMPLES[letter]}"
                    node = (following, self._kinds[letter], is_split)
                    if node not in seen:
                        seen.add(node)
                        queue.append((following, letter, is_split, text + SAMPLES[letter]))
        return None

    def _targets(self, state: State, loop: Loop | None, kind: tuple[int, ...], letter: int) -> list[State]:
        """Return the states that follow a state on a letter, if the letter before it is of this kind."""
        key = (state, loop, kind, letter)
        if key not in self._known:
            edges = self._between if loop is None else self._in_loop
            before = self._letter_of[kind]
            self._known[key] = [
                target
                for target in self._after[state]
                if (loop is None or target in loop)
                and target.accepts >> letter & 1
                and (guard := edges.get((state, target))) is not None
                and guard.allows(before, letter)
            ]
        return self._known[key]


def _is_at(goal: Step) -> IsGoal:
    return lambda step, _: step == goal


def _is_pair_again(step: Step, split: bool) -> bool:
    return split and step[0] is step[1]


def _refusing_nothing(automaton: Automaton) -> set[State]:
    """Return the loops at the end of the pattern that accept every character: no text fails after them."""
    return {
        state for state in automaton.ending if state.accepts == automaton.every and (state, state) in automaton.edges
    }


def _successors(edges: Iterable[tuple[State, State]]) -> dict[State, list[State]]:
    after = defaultdict(list)
    for source, target in edges:
        after[source].append(target)
    return after


def _reached(start: State, after: dict[State, list[State]]) -> set[State]:
    """Return the states that a path from `start` reaches with at least one step."""
    reached: set[State] = set()
    waiting = [start]
    while waiting:
        new = {*after[waiting.pop()]} - reached
        reached |= new
        waiting += new
    return reached


def _loops(edges: Iterable[tuple[State, State]]) -> list[Loop]:
    """Return the sets of states that reach each other and themselves."""
    after = _successors(edges)
    reached = {state: _reached(state, after) for state in [*after]}
    loops = {frozenset(other for other in reached[state] if state in reached.get(other, ())) for state in reached}
    return [loop for loop in loops if loop]


def _letters(edges: dict[tuple[State, State], Guard]) -> list[int]:
    """Return one character of each class that the automaton distinguishes, by its number."""
    sets = {state.accepts for edge in edges for state in edge}
    sets |= {one for guard in edges.values() for pair in guard.pairs for one in pair}
    return list({tuple(one >> number & 1 for one in sets): number for number in reversed(range(len(SAMPLES)))}.values())
