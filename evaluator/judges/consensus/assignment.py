"""Assign the output rows of a candidate to the items of the references by solving a maximum-flow problem.

Each item needs a row that can show it. Equal items form one class with a count, and so do equal rows. So a thousand
equal lines cost as much as one line. The algorithm is that of Edmonds and Karp (1972). If an item has no row, a
breadth-first search finds an augmenting path: a series of rows that can move from item to item until this item has a
row. If there is no such path, no complete assignment exists, and the search ends.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Assignment:
    """The state of a search that assigns output rows to items. Equal items form one class, and so do equal rows.

    Here `item` and `row` are the numbers of classes. `need[item]` is the number of rows that the class still needs.
    `free[row]` is the number of rows in the class that are not assigned. `edges[item]` lists the classes of rows that
    can show the item. `flow[row][item]` is the number of rows of class `row` that are assigned to class `item`.
    """

    need: list[int]
    free: list[int]
    edges: Sequence[Sequence[int]]
    flow: defaultdict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))

    @property
    def is_complete(self) -> bool:
        """True if every item has all its rows and every row is assigned to an item."""
        return not any(self.need) and not any(self.free)


def assign(items: Sequence[int], rows: Sequence[int], edges: Sequence[Sequence[int]]) -> Assignment:
    """Assign rows to items until all items are complete, or until an item cannot get a row.

    `items` counts the rows that each class of equal items needs. `rows` counts the rows in each class of equal rows.
    """
    state = Assignment(list(items), list(rows), edges)
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
    """Return a path by which the item `start` can get one more row, or None if there is no such path.

    The path is a list of (item, row) pairs. Each item can take the row of its pair from the next item in the path. The
    last row is not assigned.
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
    """Assign the row of each (item, row) pair in an augmenting path to the item of this pair."""
    state.need[path[0][0]] -= 1
    state.free[path[-1][1]] -= 1
    for number, (item, row) in enumerate(path):
        state.flow[row][item] = state.flow[row].get(item, 0) + 1
        if number + 1 < len(path):
            former = path[number + 1][0]
            state.flow[row][former] -= 1
            if not state.flow[row][former]:
                del state.flow[row][former]
