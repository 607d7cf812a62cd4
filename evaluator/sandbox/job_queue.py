"""The queue of requests to run commands, and the choice of the next request for a worker.

A worker prefers requests for worlds (the files a command starts with) that it has already built, because building a
world takes as long as several commands. Usually each variant of a world is built by only one worker. A second worker
builds the same variant only if no other work is left.

Long commands begin first, so that no core waits at the end for a command of another core. A command that is expected to
take at least LONG_S is worth the build of a world that nobody has built yet.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Collection
from typing import Final

from evaluator.sandbox.requests import Request

LONG_S: Final = 1.5
"""The expected duration of a command, in seconds, from which on its start is more important than built worlds."""


class JobQueue:
    """A thread-safe queue of requests to run commands.

    A request is due when its time `not_before` is reached. There is one heap of due requests for each variant of a
    world (`layer`), with the longest expected duration first. All other requests are in one heap, sorted by time.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._due: dict[str, list[tuple[float, int, Request]]] = {}
        self._later: list[tuple[float, int, Request]] = []
        self._numbers = itertools.count()
        self._assigned: set[str] = set()
        self._closed = False

    def add(self, request: Request) -> None:
        """Add a request to run a command. Workers may take it as soon as its time `not_before` is reached."""
        with self._condition:
            heapq.heappush(self._later, (request.not_before, next(self._numbers), request))
            self._condition.notify()

    def take(self, built: Collection[str]) -> Request | None:
        """Wait for a request that is due, and return it. Return None after a call of `close`.

        `built` holds the layers of the worlds that the worker has built. Prefer a request for one of these worlds.
        """
        with self._condition:
            while not self._closed:
                wait_s = self._queue_due()
                if self._due:
                    return self._choose(built)
                self._condition.wait(wait_s)
            return None

    def _queue_due(self) -> float | None:
        """Make the requests that are now due available to `take`.

        Return the seconds until the next request is due, or None if there is no later request.
        """
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            _, number, request = heapq.heappop(self._later)
            entry = (-request.expected_s, number, request)
            heapq.heappush(self._due.setdefault(request.world.layer, []), entry)
        return self._later[0][0] - now if self._later else None

    def _choose(self, built: Collection[str]) -> Request:
        own = max((layer for layer in self._due if layer in built), key=self._longest_s, default=None)
        new = max((layer for layer in self._due if layer not in self._assigned), key=self._longest_s, default=None)
        if own and new and self._longest_s(new) >= LONG_S and self._longest_s(new) > self._longest_s(own):
            own = None
        layer = own or new or max(self._due, key=lambda layer: (self._longest_s(layer), len(self._due[layer])))
        self._assigned.add(layer)
        requests = self._due[layer]
        request = heapq.heappop(requests)[2]
        if not requests:
            del self._due[layer]
        return request

    def _longest_s(self, layer: str) -> float:
        """Return the longest expected duration of a request for this layer, in seconds."""
        return -self._due[layer][0][0]

    def close(self) -> None:
        """Close the queue and wake all waiting workers."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
