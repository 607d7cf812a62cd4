"""What waits to be executed, and which worker is to take what.

A worker keeps to the worlds it has: building another takes as long as several commands. So each variant of a world
is built by one worker, and by a second only when that one would otherwise have nothing to do.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections import deque
from collections.abc import Collection

from evaluator.sandbox.requests import Request


class JobQueue:
    """Requests by the layer they need, in the order they came; those not due yet apart. Safe to share by threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[str, deque[Request]] = {}
        self._later: list[tuple[float, int, Request]] = []
        self._numbers = itertools.count()
        self._taken: set[str] = set()
        self._closed = False

    def add(self, request: Request) -> None:
        """Put a request where the next worker finds it when it is due."""
        with self._changed:
            heapq.heappush(self._later, (request.not_before, next(self._numbers), request))
            self._changed.notify()

    def take(self, built: Collection[str]) -> Request | None:
        """The next request for a worker that has these layers; waits for one, and is None once all is over."""
        with self._changed:
            while not self._closed:
                wait_s = self._sort_out()
                if self._waiting:
                    return self._pop(self._choose(built))
                self._changed.wait(wait_s)
            return None

    def _sort_out(self) -> float | None:
        """Line up what is due; the seconds until more will be, None where nothing will."""
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            request = heapq.heappop(self._later)[2]
            self._waiting.setdefault(request.world.layer, deque()).append(request)
        return self._later[0][0] - now if self._later else None

    def _choose(self, built: Collection[str]) -> str:
        mine = next((layer for layer in self._waiting if layer in built), None)
        new = next((layer for layer in self._waiting if layer not in self._taken), None)
        return mine or new or max(self._waiting, key=lambda layer: len(self._waiting[layer]))

    def _pop(self, layer: str) -> Request:
        self._taken.add(layer)
        line = self._waiting[layer]
        request = line.popleft()
        if not line:
            del self._waiting[layer]
        return request

    def close(self) -> None:
        """All is over: nobody waits any longer."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
