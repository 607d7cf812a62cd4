"""Execute many requests on several workers, and tell the candidate's failures from ours.

What a command does to its container is the command's: the container is replaced, the command tried once more
in a fresh one, and charged if it takes that down as well. What the engine does, or whoever else ends containers,
is ours: the request is tried again with growing pauses and in the end answered with the error, which is no evidence
and no score. An engine that was waited for in vain is not waited for again: the requests that follow get one try
each, until one succeeds; and none where the engine hangs, since every try at one costs its time. A world whose own
scripts take the container down is the suite's fault: no command is charged with it. A command
that ran into the wall clock runs once more when all others are done, since a busy machine may have caused it;
others of its kind may run beside it, each on a CPU of its own.

One worker's place in a pool, whoever sits in it at the time, and where its time goes.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from evaluator.errors import EngineError, InfraError, SandboxError, SilentEngineError
from evaluator.records import Ending, Evidence
from evaluator.sandbox.job_queue import JobQueue
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.sandbox.runner.protocol import SandboxJob
from evaluator.sandbox.worker import Line, Worker, WorkerDiedError

ANSWER_GRACE_S: Final = 60.0
"""Beyond the wall limit, for building the world and reading what the command left."""

StartWorker = Callable[[int], Worker]
"""Starts the worker of a place (0, 1, ...); raises InfraError."""


class WorkerTime(NamedTuple):
    """Where workers' time went, in worker-seconds: within jobs, from spawn to clean-up, and waiting for answers."""

    jobs_s: float = 0.0
    answers_s: float = 0.0


class WorkerSlot:
    """One place in the pool: a worker that is started when needed and replaced when lost.

    `built` holds the layers that its worker was told of.
    """

    def __init__(self, start: StartWorker, place: int, wall_s: float) -> None:
        self._start, self._place, self._timeout_s = start, place, wall_s + ANSWER_GRACE_S
        self._worker: Worker | None = None
        self.built: set[str] = set()
        self.worker_time = WorkerTime()

    @property
    def has_worker(self) -> bool:
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
        jobs_s = self.worker_time.jobs_s + sum(line.get("phases", {}).values()) / 1000
        self.worker_time = WorkerTime(jobs_s, self.worker_time.answers_s + time.monotonic() - began)
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


PAUSES_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Before each new try after a failure of the engine: it has 15 seconds to come back."""

IDLE: Final = b":"
"""A command that does nothing, to tell a world's doing from a command's."""

NOTHING: Final = frozenset[Any]()


class RetryPolicy:
    """How long failures of ours are waited out: all of `PAUSES_S`, and nothing once that was in vain.

    `silent` is the error of an engine that hangs, `broken` those of worlds that nothing can be executed in, by layer.
    """

    def __init__(self) -> None:
        self._spent = False
        self.silent: SilentEngineError | None = None
        self.broken: dict[str, InfraError] = {}

    def pauses(self) -> Iterator[float]:
        """The pauses that a request is due."""
        return iter(() if self._spent else PAUSES_S)

    def exhaust(self, error: InfraError) -> None:
        """All the pauses were in vain."""
        self._spent = True
        self.silent = error if isinstance(error, SilentEngineError) else None

    def reset(self) -> None:
        """A request succeeded."""
        self._spent, self.silent = False, None

    def known_failure(self, request: Request, *, has_worker: bool) -> InfraError | None:
        """What is known to come of a request without trying it; a worker that is there is tried all the same."""
        return self.broken.get(request.world.layer) or (None if has_worker else self.silent)


def _crash_evidence(death: WorkerDiedError) -> Evidence:
    """Evidence of a command that took two containers down."""
    return Evidence(ending=Ending.MEMORY if death.out_of_memory else Ending.CRASH)


def _attribute_crash(slot: WorkerSlot, request: Request, death: WorkerDiedError) -> ExecutionResult:
    """Whose doing two deaths were: the command's, unless its world brings them about with a command that does nothing.

    A world is built when the first command asks for it, so that its scripts may end a container before any command ran.
    """
    world = request.world
    try:
        answer, _ = _answer_of(slot.ask(replace(request, job=SandboxJob(world.layer, IDLE, None, NOTHING, NOTHING))))
    except WorkerDiedError as again:
        slot.replace()
        return SandboxError(
            f"world {world.name}, variant {world.variant}: its build.sh, its start.sh or the task's setup ends the "
            f"container before any command runs ({again}); mend the suite"
        )
    return answer if isinstance(answer, InfraError) else _crash_evidence(death)


def _answer_of(line: Line) -> tuple[ExecutionResult, bool]:
    """A runner's line as an answer, and whether the wall clock ended the command."""
    if "error" in line:
        return SandboxError(line["error"]), False
    try:
        return Evidence.model_validate(line["evidence"]), bool(line["by_wall"])
    except (ValidationError, KeyError) as error:
        return SandboxError(f"the runner's evidence does not read: {error}"), False


def _execute(
    slot: WorkerSlot, request: Request, retry_policy: RetryPolicy, sleep: Callable[[float], None]
) -> tuple[ExecutionResult, bool]:
    """One request to its answer, with the retries that are its due."""
    deaths: list[WorkerDiedError] = []
    pauses = retry_policy.pauses()
    while True:
        if known := retry_policy.known_failure(request, has_worker=slot.has_worker):
            return known, False
        try:
            if len(deaths) == 2:
                answer = _attribute_crash(slot, request, deaths[-1])
                if isinstance(answer, InfraError):
                    retry_policy.broken[request.world.layer] = answer
                return answer, False
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
            return _answer_of(line)


class Pool:
    """Workers for one suite. Use as a context manager: its workers are gone afterwards."""

    def __init__(
        self, start: StartWorker, size: int, wall_s: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._slots = [WorkerSlot(start, place, wall_s) for place in range(size)]
        self._retry_policy, self._sleep = RetryPolicy(), sleep

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for slot in self._slots:
            slot.replace()

    @property
    def worker_time(self) -> WorkerTime:
        """Where the workers' time went so far."""
        return WorkerTime(*(sum(each) for each in zip(*(slot.worker_time for slot in self._slots), strict=True)))

    def execute(self, requests: Sequence[Request]) -> Iterator[tuple[Request, ExecutionResult]]:
        """Yield every request with its result, in the order of completion; `Request.run_key` identifies it.

        Requests that are appended to `requests` while results are taken are executed as well.
        """
        slow: list[Request] = []
        with _Dispatch(self._slots, self._retry_policy, self._sleep) as shift:
            while True:
                shift.submit(requests)
                if not shift.open:
                    if not slow:
                        return
                    for request in slow:
                        shift.add(replace(request, is_retry=True))
                    slow = []
                request, (answer, by_wall) = shift.next_answer()
                if by_wall and not request.is_retry:
                    slow.append(request)
                else:
                    yield request, answer


class _Dispatch:
    """The seats at work on one agenda, a thread each, from the first request to the last answer."""

    def __init__(self, slots: Sequence[WorkerSlot], retry_policy: RetryPolicy, sleep: Callable[[float], None]) -> None:
        self._idle, self._retry_policy, self._sleep = list(reversed(slots)), retry_policy, sleep
        self._jobs = JobQueue()
        self._done: queue.SimpleQueue[tuple[Request, tuple[ExecutionResult, bool]] | BaseException] = (
            queue.SimpleQueue()
        )
        self._threads: list[threading.Thread] = []
        self._enlisted = 0
        self.open = 0

    def __enter__(self) -> _Dispatch:
        return self

    def __exit__(self, *_: object) -> None:
        self._jobs.close()
        for thread in self._threads:
            thread.join()

    def submit(self, requests: Sequence[Request]) -> None:
        """Add those that were not there when this was last called."""
        for request in requests[self._enlisted :]:
            self.add(request)
        self._enlisted = len(requests)

    def add(self, request: Request) -> None:
        """Have one request executed, by a seat more where there is one."""
        self.open += 1
        self._jobs.add(request)
        if self._idle and len(self._threads) < self.open:
            self._threads.append(threading.Thread(target=self._serve, args=(self._idle.pop(),), daemon=True))
            self._threads[-1].start()

    def next_answer(self) -> tuple[Request, tuple[ExecutionResult, bool]]:
        """Wait for an answer. Raises what a seat's thread broke with."""
        item = self._done.get()
        if isinstance(item, BaseException):
            raise item
        self.open -= 1
        return item

    def _serve(self, slot: WorkerSlot) -> None:
        try:
            while (request := self._jobs.take(slot.built)) is not None:
                self._done.put((request, _execute(slot, request, self._retry_policy, self._sleep)))
        except BaseException as error:  # a bug of ours: it is raised where the caller waits
            self._done.put(error)


def worker_count() -> int:
    """One worker a CPU this process may use."""
    return len(os.sched_getaffinity(0))
