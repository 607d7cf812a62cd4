"""Giving every item a row: maximum flow from items to rows that can stand for them.

Items and rows come in classes of equal ones with a count, so that a thousand equal lines cost as much as
one. Augmenting paths found breadth first (Edmonds and Karp 1972); an item that no path serves ends the
search, because then no complete assignment exists.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Assignment:
    """How many of each item still need a row, how many of each row are free, and who got what.

    `edges[item]` lists the rows that can stand for the item; `flow[row][item]` counts those given.
    """

    need: list[int]
    free: list[int]
    edges: Sequence[Sequence[int]]
    flow: list[dict[int, int]] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """True where every item has its row and every row its item."""
        return not any(self.need) and not any(self.free)


def assign(items: Sequence[int], rows: Sequence[int], edges: Sequence[Sequence[int]]) -> Assignment:
    """Assign rows to items, both given by their counts, until all are served or one item cannot be."""
    state = Assignment(list(items), list(rows), edges, [{} for _ in rows])
    for item in range(len(items)):
        for row in edges[item]:
            _give(state, item, row, min(state.need[item], state.free[row]))
    for item in range(len(items)):
        while state.need[item]:
            path = _augmenting_path(state, item)
            if path is None:
                return state
            _push(state, path)
    return state


def _give(state: Assignment, item: int, row: int, amount: int) -> None:
    if amount:
        state.need[item] -= amount
        state.free[row] -= amount
        state.flow[row][item] = state.flow[row].get(item, 0) + amount


def _augmenting_path(state: Assignment, start: int) -> list[tuple[int, int]] | None:
    """Pairs of item and row from the start to a free row; each next item gives up its former row."""
    reached: dict[int, tuple[int, int] | None] = {start: None}
    seen: set[int] = set()
    queue = deque([start])
    while queue:
        item = queue.popleft()
        for row in state.edges[item]:
            if row in seen:
                continue
            seen.add(row)
            if state.free[row]:
                return _trace(reached, item, row)
            for other in state.flow[row]:
                if other not in reached:
                    reached[other] = (item, row)
                    queue.append(other)
    return None


def _trace(reached: dict[int, tuple[int, int] | None], item: int, row: int) -> list[tuple[int, int]]:
    path = [(item, row)]
    step = reached[item]
    while step is not None:
        path.append(step)
        step = reached[step[0]]
    return path[::-1]


def _push(state: Assignment, path: list[tuple[int, int]]) -> None:
    """Move one row along the path."""
    state.need[path[0][0]] -= 1
    state.free[path[-1][1]] -= 1
    for number, (item, row) in enumerate(path):
        state.flow[row][item] = state.flow[row].get(item, 0) + 1
        if number + 1 < len(path):
            former = path[number + 1][0]
            state.flow[row][former] -= 1
            if not state.flow[row][former]:
                del state.flow[row][former]
