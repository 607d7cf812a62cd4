"""A pool of workers that executes requests and separates failures of commands from infrastructure errors.

If a command ends its container, the pool runs it again in a new container. If the second container also ends, the
evidence records a crash. If the engine fails or another process removes the container, the pool retries the request
after growing pauses. If the last retry fails, the result is the error, without evidence or score. Then each later
request has only one try until a request succeeds. If the engine hangs, there are no more tries, because each try would
last for the whole timeout. If a world's scripts end the container, the result is an error of the suite.

A command that exceeds the wall-clock limit runs again after all others, because the machine may have been busy. Several
of these commands may run at the same time, each on its own CPU.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from pydantic import ValidationError

from evaluator.errors import EngineError, InfraError, SandboxError, SilentEngineError
from evaluator.records import Ending, Evidence
from evaluator.sandbox.job_queue import JobQueue
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.sandbox.runner.protocol import SandboxJob
from evaluator.sandbox.worker import Line, Worker, WorkerDiedError

ANSWER_GRACE_S: Final = 60.0
"""Seconds beyond the wall limit, for building the world and reading the changes of the command."""

_LONGEST_PHASE_MS: Final = 10**9
"""No phase of a job lasts as many milliseconds. It is a limit for the sum of invalid durations."""

StartWorker = Callable[[int], Worker]
"""Starts the worker of a slot (0, 1, ...). Raises InfraError."""


class WorkerTime(NamedTuple):
    """The time of all workers in seconds: `jobs_s` for running jobs, and `answers_s` for waiting for answers."""

    jobs_s: float = 0.0
    answers_s: float = 0.0


def _job_s(line: Line) -> float:
    """Return the seconds that a job took according to the runner. An invalid duration counts as 0."""
    phases = line.get("phases")
    times = phases.values() if isinstance(phases, dict) else ()
    return sum(time for time in times if isinstance(time, int | float) and 0 <= time < _LONGEST_PHASE_MS) / 1000


class WorkerSlot:
    """A place for one worker in the pool. The slot starts its worker at the first request and again after a failure.

    `built` holds the names of the layers that the current worker knows.
    """

    def __init__(self, start: StartWorker, number: int, wall_s: float) -> None:
        self._start, self._number, self._timeout_s = start, number, wall_s + ANSWER_GRACE_S
        self._worker: Worker | None = None
        self.built: set[str] = set()
        self.worker_time = WorkerTime()

    @property
    def has_worker(self) -> bool:
        """Return whether a worker is running in this slot."""
        return self._worker is not None

    def ask(self, request: Request) -> Line:
        """Run one request on this slot's worker and return the runner's line. Start the worker if necessary."""
        if self._worker is None:
            self._worker, self.built = self._start_worker(), set()
        if request.world.layer not in self.built:
            self._worker.tell(request.world.to_line())
            self.built.add(request.world.layer)
        began = time.monotonic()
        line = self._worker.ask(request.job.to_line(), self._timeout_s)
        jobs_s = self.worker_time.jobs_s + _job_s(line)
        self.worker_time = WorkerTime(jobs_s, self.worker_time.answers_s + time.monotonic() - began)
        return line

    def _start_worker(self) -> Worker:
        try:
            return self._start(self._number)
        except WorkerDiedError as death:  # no command was running, so none is charged
            raise SandboxError(f"a worker did not start: {death}") from death

    def replace(self) -> None:
        """Stop the slot's worker. The next request starts a new worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()


PAUSES_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each new try after a failure of the engine, 15.5 seconds in all."""

IDLE: Final = b":"
"""A command that does nothing, to separate the effects of a world from those of a command."""


class RetryPolicy:
    """The retry policy for infrastructure errors: one retry after each pause in `PAUSES_S`, or none after `exhaust`.

    `silent` is the error of an engine that hangs. `broken` maps layers to the errors of worlds that fail to start.
    """

    def __init__(self) -> None:
        self._is_exhausted = False
        self.silent: SilentEngineError | None = None
        self.broken: dict[str, InfraError] = {}

    def pauses(self) -> Iterator[float]:
        """Return the pauses before the retries of one request. After `exhaust`, the result is empty until `reset`."""
        return iter(() if self._is_exhausted else PAUSES_S)

    def exhaust(self, error: InfraError) -> None:
        """Record that all retries of a request failed with this error."""
        self._is_exhausted = True
        self.silent = error if isinstance(error, SilentEngineError) else None

    def reset(self) -> None:
        """Record that a request succeeded."""
        self._is_exhausted, self.silent = False, None

    def known_failure(self, request: Request, *, has_worker: bool) -> InfraError | None:
        """Return the known error of a request, or None if the pool should run the request."""
        return self.broken.get(request.world.layer) or (None if has_worker else self.silent)


def _attribute_crash(slot: WorkerSlot, request: Request, death: WorkerDiedError) -> ExecutionResult:
    """Run an idle command in a third container, to decide whether the world or the command ended the first two.

    The runner builds a world for the first command that needs it. So the world's scripts may end the container.
    """
    world = request.world
    try:
        idle = SandboxJob(world.layer, IDLE, verify=None, observe=frozenset(), text_files=frozenset())
        result, _ = _read_result(slot.ask(replace(request, job=idle)))
    except WorkerDiedError as again:
        slot.replace()
        return SandboxError(
            f"world {world.name}, variant {world.variant}: its build.sh, its start.sh or the task's setup ends the "
            f"container before any command runs ({again}); fix the suite"
        )
    if isinstance(result, InfraError):
        return result
    return Evidence(ending=Ending.MEMORY if death.out_of_memory else Ending.CRASH)


def _read_result(line: Line) -> tuple[ExecutionResult, bool]:
    """Return the result in a runner's line, and whether the command exceeded the wall-clock limit."""
    if "error" in line:
        return SandboxError(line["error"]), False
    try:
        return Evidence.model_validate(line["evidence"]), bool(line["by_wall"])
    except (ValidationError, KeyError) as error:
        return SandboxError(f"the runner's evidence cannot be read: {error}"), False


def _execute(
    slot: WorkerSlot, request: Request, retry_policy: RetryPolicy, sleep: Callable[[float], None]
) -> tuple[ExecutionResult, bool]:
    """Execute one request with retries. Return the result, and whether the command exceeded the wall-clock limit."""
    deaths: list[WorkerDiedError] = []
    pauses = retry_policy.pauses()
    while True:
        if failure := retry_policy.known_failure(request, has_worker=slot.has_worker):
            return failure, False
        try:
            if len(deaths) == 2:
                result = _attribute_crash(slot, request, deaths[-1])
                if isinstance(result, InfraError):
                    retry_policy.broken[request.world.layer] = result
                return result, False
            line = slot.ask(request)
        except WorkerDiedError as death:
            slot.replace()
            deaths.append(death)
        except (EngineError, SandboxError) as error:
            slot.replace()
            pause = next(pauses, None)
            if pause is None:
                retry_policy.exhaust(error)
                return error, False
            sleep(pause)
        else:
            retry_policy.reset()
            return _read_result(line)


class Pool:
    """The workers for one suite. The pool is a context manager that stops the workers when the context ends."""

    def __init__(
        self, start: StartWorker, size: int, wall_s: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._slots = [WorkerSlot(start, number, wall_s) for number in range(size)]
        self._retry_policy, self._sleep = RetryPolicy(), sleep

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for slot in self._slots:
            slot.replace()

    @property
    def worker_time(self) -> WorkerTime:
        """Return the time that the workers have spent so far."""
        return WorkerTime(*(sum(times) for times in zip(*(slot.worker_time for slot in self._slots), strict=True)))

    def execute(self, requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
        """Yield each request with its result, in the order of completion. `Request.run_key` identifies the request.

        The caller may append to `requests` during the iteration. The pool executes these requests too.
        """
        slow: list[Request] = []
        with _Dispatch(self._slots, self._retry_policy, self._sleep) as dispatch:
            while True:
                dispatch.submit(requests)
                if not dispatch.unfinished:
                    if not slow:
                        return
                    for request in slow:
                        dispatch.add(replace(request, is_retry=True))
                    slow = []
                request, result, by_wall = dispatch.next_result()
                if by_wall and not request.is_retry:
                    slow.append(request)
                else:
                    yield request, result


class _Dispatch:
    """The threads that take requests from one job queue: one thread for each worker slot."""

    def __init__(self, slots: Sequence[WorkerSlot], retry_policy: RetryPolicy, sleep: Callable[[float], None]) -> None:
        self._idle, self._retry_policy, self._sleep = list(reversed(slots)), retry_policy, sleep
        self._jobs = JobQueue()
        self._results: queue.SimpleQueue[tuple[Request, ExecutionResult, bool] | BaseException] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._submitted = 0
        self.unfinished = 0

    def __enter__(self) -> _Dispatch:
        return self

    def __exit__(self, *_: object) -> None:
        self._jobs.close()
        for thread in self._threads:
            thread.join()

    def submit(self, requests: Sequence[Request]) -> None:
        """Add the requests that were appended since the last call."""
        for request in requests[self._submitted :]:
            self.add(request)
        self._submitted = len(requests)

    def add(self, request: Request) -> None:
        """Add one request. Start a thread for an idle slot if there are more requests than threads."""
        self.unfinished += 1
        self._jobs.add(request)
        if self._idle and len(self._threads) < self.unfinished:
            self._threads.append(threading.Thread(target=self._serve, args=(self._idle.pop(),), daemon=True))
            self._threads[-1].start()

    def next_result(self) -> tuple[Request, ExecutionResult, bool]:
        """Wait for the next result and return it. If a thread failed, raise its exception."""
        item = self._results.get()
        if isinstance(item, BaseException):
            raise item
        self.unfinished -= 1
        return item

    def _serve(self, slot: WorkerSlot) -> None:
        try:
            while (request := self._jobs.take(slot.built)) is not None:
                self._results.put((request, *_execute(slot, request, self._retry_policy, self._sleep)))
        except BaseException as error:  # a bug: `next_result` raises it in the caller's thread
            self._results.put(error)


def worker_count() -> int:
    """Return the number of workers: one for each CPU that this process may use."""
    return len(os.sched_getaffinity(0))
