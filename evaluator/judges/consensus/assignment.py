"""Assign the output rows of a candidate to the items of the references by solving a maximum-flow problem.

Each item needs a row that can show it. Equal items form one class with a count, and so do equal rows. So a thousand
equal lines cost as much as one line. A breadth-first search finds augmenting paths (Edmonds and Karp 1972). If there is
no such path for an item, the search ends, because no complete assignment exists.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Assignment:
    """The state of a search that assigns output rows to items. A number stands for a class of equal rows or items.

    `need[item]` counts the rows that the items of a class still need. `free[row]` counts the rows of a class that no
    item has. `edges[item]` lists the rows that can show the item. `flow[row][item]` counts rows of class `row` that
    `item` has.
    """

    need: list[int]
    free: list[int]
    edges: Sequence[Sequence[int]]
    flow: list[dict[int, int]] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """True if every item has all its rows and every row is assigned to an item."""
        return not any(self.need) and not any(self.free)


def assign(items: Sequence[int], rows: Sequence[int], edges: Sequence[Sequence[int]]) -> Assignment:
    """Assign rows to items until all items are complete, or until an item cannot get a row.

    `items` counts the rows that each class of equal items needs. `rows` counts the rows in each class of equal rows.
    """
    state = Assignment(list(items), list(rows), edges, [{} for _ in rows])
    for item in range(len(items)):
        for row in edges[item]:
            amount = min(state.need[item], state.free[row])
            if amount:
                state.need[item] -= amount
                state.free[row] -= amount
                state.flow[row][item] = state.flow[row].get(item, 0) + amount
    for item in range(len(items)):
        while state.need[item]:
            path = _augmenting_path(state, item)
            if path is None:
                return state
            _push(state, path)
    return state


def _augmenting_path(state: Assignment, start: int) -> list[tuple[int, int]] | None:
    """Return an augmenting path from the item `start` to a free row, or None if there is no such path.

    The path is a list of (item, row) pairs. Only the row of the last pair is free.
    """
    reached: dict[int, tuple[int, int] | None] = {start: None}
    visited: set[int] = set()
    queue = deque([start])
    while queue:
        item = queue.popleft()
        for row in state.edges[item]:
            if row in visited:
                continue
            visited.add(row)
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
    """Assign rows along an augmenting path of (item, row) pairs.

    Each item gets the row of its own pair. The item of the next pair has this row until now, and loses it.
    """
    state.need[path[0][0]] -= 1
    state.free[path[-1][1]] -= 1
    for number, (item, row) in enumerate(path):
        state.flow[row][item] = state.flow[row].get(item, 0) + 1
        if number + 1 < len(path):
            former = path[number + 1][0]
            state.flow[row][former] -= 1
            if not state.flow[row][former]:
                del state.flow[row][former]
