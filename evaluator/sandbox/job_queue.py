"""The queue of requests, and the choice of a request for a worker.

A worker prefers the worlds that it has already built, because building another takes as long as several commands. So
one worker builds each variant of a world. A second worker builds it only if it would otherwise be idle.
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
    """The waiting requests: by layer in the order of arrival, and those that are not due yet. Threads may share it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[str, deque[Request]] = {}
        self._later: list[tuple[float, int, Request]] = []
        self._numbers = itertools.count()
        self._taken: set[str] = set()
        self._closed = False

    def add(self, request: Request) -> None:
        """Add a request, which workers may take when it is due."""
        with self._changed:
            heapq.heappush(self._later, (request.not_before, next(self._numbers), request))
            self._changed.notify()

    def take(self, built: Collection[str]) -> Request | None:
        """Wait for the next request for a worker that has built these layers. Return None after `close`."""
        with self._changed:
            while not self._closed:
                wait_s = self._sort_out()
                if self._waiting:
                    return self._pop(self._choose(built))
                self._changed.wait(wait_s)
            return None

    def _sort_out(self) -> float | None:
        """Queue the requests that are due. Return the seconds until the next is due, or None if there is none."""
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
        """Close the queue, so that no worker waits any longer."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
