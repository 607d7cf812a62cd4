"""A pool of workers that executes requests and separates failures of commands from infrastructure errors.

A worker is a container with a runner, the program that executes one command (a job) after the other. The pool runs a
job again, in a new container, in these cases:

* The container ended during the job. If the second container also ends, the evidence records a crash. But if the
  scripts that build the command's world caused this, the result is an error of the suite.
* The command reached the memory limit. The evidence records this only if the second try reaches the limit too.
* The runner did not finish the job in time. If the second try takes too long too, the result is an error.
* The runner found leftovers of an earlier job, and so refused this job.
* The engine failed, or another process removed the container. The pool pauses before each new try. If the last try
  fails, the result is an error, without evidence or score. Then each later request has only one try until a request
  succeeds. If the engine hangs, later requests have no try, because each try would last for the whole timeout.

At the wall-clock limit, the runner gives a command the time back that other programs took from it, so one run decides.
If the runner cannot measure this time, the command runs once more with the same limit, as the only one on its core.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from pydantic import ValidationError

from evaluator.errors import EngineError, InfraError, SandboxError, SilentEngineError
from evaluator.records import Ending, Evidence
from evaluator.sandbox.cores import Cores, IdleTime
from evaluator.sandbox.job_queue import JobQueue
from evaluator.sandbox.requests import ExecutionResult, Request
from evaluator.sandbox.runner.lost_time import MAX_LOST_S
from evaluator.sandbox.runner.protocol import SandboxJob
from evaluator.sandbox.worker import ExecutionOrigin, Line, OverdueError, RetiredError, Worker, WorkerDiedError

ANSWER_GRACE_S: Final = 60.0
"""Seconds beyond the wall limits, for building the world and reading the changes of the command."""

_LONGEST_PHASE_MS: Final = 10**9
"""No phase of a job lasts as many milliseconds. It is a limit for the sum of invalid durations."""

StartWorker = Callable[[int], Worker]
"""Starts the worker of a slot (0, 1, ...). Raises InfraError."""


class WorkerTime(NamedTuple):
    """The seconds that workers spent on jobs, and the seconds that we waited for the workers' answers."""

    jobs_s: float = 0.0
    answers_s: float = 0.0


def _job_s(line: Line) -> float:
    """Return the seconds that a job took according to the runner. An invalid duration counts as 0."""
    phases = line.get("phases")
    times = phases.values() if isinstance(phases, dict) else ()
    return sum(time for time in times if isinstance(time, int | float) and 0 <= time < _LONGEST_PHASE_MS) / 1000


class WorkerSlot:
    """A place for one worker in the pool. The slot starts its worker at the first request and again after a failure.

    `built` holds the names of the layers (variants of worlds) that the current worker knows. `origin` names the
    container of the latest job, and the job's position among the container's jobs.
    """

    def __init__(self, start: StartWorker, number: int, wall_s: float, cores: Cores) -> None:
        self._start, self.number, self._wall_s = start, number, wall_s
        self._cores = cores
        self._worker: Worker | None = None
        self.built: set[str] = set()
        self.origin: ExecutionOrigin | None = None
        self._position = 0
        self.worker_time = WorkerTime()

    @property
    def has_worker(self) -> bool:
        """Return whether a worker is running in this slot."""
        return self._worker is not None

    def ask(self, request: Request) -> Line:
        """Run one request on this slot's worker and return the runner's answer. Start a worker if there is none.

        While all processes of the job sleep, the slot's core is free for another slot, unless the job runs alone.
        """
        if self._worker is None:
            self._worker, self.built, self._position = self._start_worker(), set(), 0
        if request.world.layer not in self.built:
            self._worker.tell(request.world.to_line())
            self.built.add(request.world.layer)
        self._position += 1
        self.origin = ExecutionOrigin(self._worker.container_id, self._worker.started, self._position)
        began = time.monotonic()
        on_sleep = None if request.is_alone else self._on_sleep
        line = self._worker.ask(request.job.to_line(), self._timeout_s(request.job), on_sleep)
        jobs_s = self.worker_time.jobs_s + _job_s(line)
        self.worker_time = WorkerTime(jobs_s, self.worker_time.answers_s + time.monotonic() - began)
        return line

    def _timeout_s(self, job: SandboxJob) -> float:
        """Return the longest time until the answer: the limit of each run with the time that it gets back, and more."""
        runs = 1 if job.verify is None else 2
        return runs * ((job.wall_s or self._wall_s) + MAX_LOST_S) + ANSWER_GRACE_S

    def _start_worker(self) -> Worker:
        try:
            return self._start(self.number)
        except WorkerDiedError as death:  # no command was running, so none is charged
            raise SandboxError(f"a worker did not start: {death}") from death

    def _on_sleep(self, asleep: bool) -> None:
        if asleep:
            self._cores.release(self.number)
        else:
            self._cores.resume(self.number)

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
    """The retry policy for infrastructure errors: one retry after each pause in `PAUSES_S`.

    After all retries of a request failed, there are no retries until a request succeeds. `silent` is the error if the
    engine hangs. `broken` maps the layer of each world that cannot be built to the error.
    """

    def __init__(self) -> None:
        self._is_exhausted = False
        self.silent: SilentEngineError | None = None
        self.broken: dict[str, InfraError] = {}

    def pauses(self) -> Iterator[float]:
        """Return the pauses, in seconds, before the retries of one request.

        After a call of `exhaust`, there are no pauses and no retries until a call of `reset`.
        """
        return iter(() if self._is_exhausted else PAUSES_S)

    def exhaust(self, error: InfraError) -> None:
        """Record that all retries of a request failed with this error. Stop retries until a request succeeds."""
        self._is_exhausted = True
        self.silent = error if isinstance(error, SilentEngineError) else None

    def reset(self) -> None:
        """Record that a request succeeded. From now on, each request has all retries."""
        self._is_exhausted, self.silent = False, None

    def known_failure(self, request: Request, *, has_worker: bool) -> InfraError | None:
        """Return the error that a request would certainly give again, or None if the pool should run the request."""
        return self.broken.get(request.world.layer) or (None if has_worker else self.silent)


def _attribute_crash(slot: WorkerSlot, request: Request, death: WorkerDiedError) -> ExecutionResult:
    """Find out the reason why two containers ended: the command, or the scripts that build its world.

    Run an empty command in a third container. If this container also ends, the scripts are the reason, and the result
    is an error of the suite. Otherwise the result is evidence that the command crashed or reached the memory limit.
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
    """Return the result in a runner's answer, and whether a busy machine may have caused a timeout in it."""
    if "error" in line:
        return SandboxError(line["error"]), False
    try:
        return Evidence.model_validate(line["evidence"]), bool(line["by_wall"]) and not line["lost_time_known"]
    except (ValidationError, KeyError) as error:
        return SandboxError(f"the runner's evidence cannot be read: {error}"), False


class _Answer(NamedTuple):
    """The answer to a request: the result, and the origin of the result if the result is evidence.

    `is_doubtful` is true if the wall-clock limit ended the command and a busy machine may be the cause.
    """

    result: ExecutionResult
    is_doubtful: bool = False
    origin: ExecutionOrigin | None = None


class _Tries:
    """The tries to run one request in one worker slot.

    The slot gets a new worker if the old one may hold leftovers of the command. This is assumed if the command reached
    the memory limit. A container that ended is also replaced.
    """

    def __init__(
        self, slot: WorkerSlot, request: Request, retry_policy: RetryPolicy, sleep: Callable[[float], None]
    ) -> None:
        self._slot, self._request, self._retry_policy, self._sleep = slot, request, retry_policy, sleep
        self._deaths: list[WorkerDiedError] = []
        self._was_overdue = self._had_no_memory = False

    def answer(self) -> _Answer:
        """Run the request, if necessary several times, and return its answer. Pause after a failure of the engine."""
        pauses = self._retry_policy.pauses()
        while True:
            if failure := self._retry_policy.known_failure(self._request, has_worker=self._slot.has_worker):
                return _Answer(failure)
            try:
                answer = self._charge() if len(self._deaths) == 2 else self._try()
            except (EngineError, SandboxError) as error:
                self._slot.replace()
                pause = next(pauses, None)
                if pause is None:
                    self._retry_policy.exhaust(error)
                    return _Answer(error)
                self._sleep(pause)
            else:
                if answer is not None:
                    return answer
                self._slot.replace()

    def _try(self) -> _Answer | None:
        """Run the request once. Return None if the request must run again in a new container."""
        try:
            line = self._slot.ask(self._request)
        except WorkerDiedError as death:
            self._deaths.append(death)
            return None
        except RetiredError:
            return None
        except OverdueError as error:
            again, self._was_overdue = self._was_overdue, True
            return self._last(_Answer(error)) if again else None
        self._retry_policy.reset()
        result, is_doubtful = _read_result(line)
        if isinstance(result, InfraError):
            return _Answer(result)
        answer = _Answer(result, is_doubtful, self._slot.origin)
        if result.ending == Ending.MEMORY:
            again, self._had_no_memory = self._had_no_memory, True
            return self._last(answer) if again else None
        return answer

    def _last(self, answer: _Answer) -> _Answer:
        """Stop the slot's worker, so that this job is the worker's last one. Return the given answer."""
        self._slot.replace()
        return answer

    def _charge(self) -> _Answer:
        """Return the answer for a request that ended two containers: evidence of a crash, or an error of the suite."""
        origin, result = self._slot.origin, _attribute_crash(self._slot, self._request, self._deaths[-1])
        if isinstance(result, InfraError):
            self._retry_policy.broken[self._request.world.layer] = result
            return _Answer(result)
        return _Answer(result, origin=origin)


class Pool:
    """The workers for one suite. The pool is a context manager that stops the workers when the context ends.

    `size` is the number of cores. Each core has `in_flight` worker slots (see `Cores`), and slot i belongs to core i
    modulo `size`. A slot starts its worker at its first request, so a core's second worker starts while all processes
    of its first job sleep. `wall_s` is the wall-clock limit of jobs without their own.
    """

    def __init__(
        self,
        start: StartWorker,
        size: int,
        wall_s: float,
        sleep: Callable[[float], None] = time.sleep,
        *,
        in_flight: int = 1,
    ) -> None:
        self._cores, self._wall_s = Cores(size, size * in_flight), wall_s
        self._slots = [WorkerSlot(start, number, wall_s, self._cores) for number in range(size * in_flight)]
        self._retry_policy, self._sleep = RetryPolicy(), sleep

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for slot in self._slots:
            slot.replace()

    def idle_time(self) -> IdleTime:
        """Return the share of the time of `execute` in which a core had no job that was awake."""
        return self._cores.idle_time()

    @property
    def worker_time(self) -> WorkerTime:
        """Return the sums of the times of all workers so far."""
        return WorkerTime(*(sum(times) for times in zip(*(slot.worker_time for slot in self._slots), strict=True)))

    def execute(self, requests: Sequence[Request]) -> Generator[tuple[Request, ExecutionResult], None, None]:
        """Yield each request with its result, in the order of completion. `Request.run_key` identifies the request.

        The `origin` of a yielded request names the container that gave the evidence. Without evidence, it is None. The
        caller may append requests to `requests` during the iteration, and the pool executes them too.
        """
        dispatch = _Dispatch(self._slots, self._cores, self._retry_policy, self._sleep)
        with self._cores.counted(), dispatch:
            while True:
                dispatch.submit(requests)
                if not dispatch.unfinished:
                    return
                request, answer = dispatch.next_answer()
                if answer.is_doubtful and not request.is_alone:
                    limit_s = request.job.wall_s or self._wall_s
                    dispatch.add(replace(request, is_alone=True, expected_s=limit_s))
                else:
                    yield replace(request, origin=answer.origin), answer.result


class _Dispatch:
    """The threads that take requests from one job queue and run them: one thread for each worker slot."""

    def __init__(
        self,
        slots: Sequence[WorkerSlot],
        cores: Cores,
        retry_policy: RetryPolicy,
        sleep: Callable[[float], None],
    ) -> None:
        self._idle, self._retry_policy, self._sleep = list(reversed(slots)), retry_policy, sleep
        self._cores = cores
        self._jobs = JobQueue()
        self._results: queue.SimpleQueue[tuple[Request, _Answer] | BaseException] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._submitted = 0
        self.unfinished = 0

    def __enter__(self) -> _Dispatch:
        return self

    def __exit__(self, *_: object) -> None:
        self._jobs.close()
        self._cores.end()
        for thread in self._threads:
            thread.join()

    def submit(self, requests: Sequence[Request]) -> None:
        """Add those requests to the queue that the caller appended to `requests` since the last call of `submit`."""
        for request in requests[self._submitted :]:
            self.add(request)
        self._submitted = len(requests)

    def add(self, request: Request) -> None:
        """Add one request to the queue. If there are more requests than threads, start a thread for an unused slot."""
        self.unfinished += 1
        self._jobs.add(request)
        if self._idle and len(self._threads) < self.unfinished:
            self._threads.append(threading.Thread(target=self._serve, args=(self._idle.pop(),), daemon=True))
            self._threads[-1].start()

    def next_answer(self) -> tuple[Request, _Answer]:
        """Wait for the next answer and return it with its request. If a thread failed, raise its exception."""
        item = self._results.get()
        if isinstance(item, BaseException):
            raise item
        self.unfinished -= 1
        return item

    def _serve(self, slot: WorkerSlot) -> None:
        try:
            while True:
                self._cores.acquire(slot.number)
                request = self._jobs.take(slot.built)
                if request is None:
                    return
                self._cores.begin(slot.number, alone=request.is_alone)
                self._results.put((request, _Tries(slot, request, self._retry_policy, self._sleep).answer()))
        except BaseException as error:  # a bug: `next_answer` raises it in the caller's thread
            self._results.put(error)
        finally:
            self._cores.leave(slot.number)


def core_count() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0))
