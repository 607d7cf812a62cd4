"""One worker's place in a pool, whoever sits in it at the time, and where its time goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from evaluator.errors import SandboxError
from evaluator.sandbox.requests import Request
from evaluator.sandbox.worker import Line, Worker, WorkerDiedError

ANSWER_GRACE_S: Final = 60.0
"""Beyond the wall limit, for building the world and reading what the command left."""

StartWorker = Callable[[int], Worker]
"""Starts the worker of a place (0, 1, ...); raises InfraError."""


class Spent(NamedTuple):
    """Where workers' time went, in worker-seconds: within jobs, from spawn to clean-up, and waiting for answers."""

    jobs_s: float = 0.0
    answers_s: float = 0.0


class Seat:
    """One place in the pool: a worker that is started when needed and replaced when lost.

    `built` holds the layers that its worker was told of.
    """

    def __init__(self, start: StartWorker, place: int, wall_s: float) -> None:
        self._start, self._place, self._timeout_s = start, place, wall_s + ANSWER_GRACE_S
        self._worker: Worker | None = None
        self.built: set[str] = set()
        self.spent = Spent()

    @property
    def manned(self) -> bool:
        """Whether it has a worker."""
        return self._worker is not None

    def ask(self, request: Request) -> Line:
        """Run one request on this seat's worker."""
        if self._worker is None:
            self._worker, self.built = self._start_worker(), set()
        if request.world.layer not in self.built:
            self._worker.tell(request.world.to_line())
            self.built.add(request.world.layer)
        began = time.monotonic()
        line = self._worker.ask(request.job.to_line(), self._timeout_s)
        jobs_s = self.spent.jobs_s + sum(line.get("phases", {}).values()) / 1000
        self.spent = Spent(jobs_s, self.spent.answers_s + time.monotonic() - began)
        return line

    def _start_worker(self) -> Worker:
        try:
            return self._start(self._place)
        except WorkerDiedError as death:  # before it was given the request, which is therefore not charged
            raise SandboxError(f"a worker did not start: {death}") from death

    def replace(self) -> None:
        """Take the worker down; the next request starts another."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
