"""Workers for tests. They execute nothing. A list in the test holds their answers and failures.

    >>> workers = ScriptedWorkers([dies(), shows("done")])
    >>> with Pool(workers.start, size=1, wall_s=1, sleep=workers.sleep) as pool:
    ...     results = list(pool.execute(requests))

These workers serve tests of a pool whose workers die or fail. The tests of the real worker cover the evidence of
commands.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from evaluator.errors import EngineError
from evaluator.records import Evidence, Output
from evaluator.sandbox.worker import Line, OnSleep, WorkerDiedError

FIRST_START = datetime(2025, 3, 14, 9, 15, tzinfo=UTC)
"""The start of the first scripted worker. Each later worker starts one second after the worker before it."""

Act = Callable[[Line], Line]
"""What a worker does with the line of one job: answer it, or raise an error."""


def shows(output: str = "", *, by_wall: bool = False, lost_time_known: bool = True, **fields: Any) -> Act:
    """Return a function that answers a job with evidence. `fields` are further fields of this evidence.

    `by_wall` is true if the wall-clock limit ended the command. `lost_time_known` is false if a busy machine may be the
    cause.
    """
    evidence = Evidence.model_validate({"ending": "exited", "status": 0, **fields, "stdout": _output(output)})
    record = evidence.model_dump(mode="json")
    return lambda _: {"evidence": record, "by_wall": by_wall, "lost_time_known": lost_time_known}


def _output(text: str) -> Output:
    return Output(data=text.encode(), size=len(text.encode()))


def says(line: Line) -> Act:
    """Return a function that answers any job with this line."""
    return lambda _: line


def echoes() -> Act:
    """Return a function that answers a job with the text of the job's command as standard output."""
    return lambda line: shows(str(line["command"]))(line)


def fails(error: BaseException | None = None) -> Act:
    """Return a function that raises `error` for any job. The default is an error of the container engine."""
    return _raising(error or EngineError("the engine went away"))


def dies(*, out_of_memory: bool = False) -> Act:
    """Return a function that raises, for any job, the error of a container that ended."""
    return _raising(WorkerDiedError("the worker's container ended", out_of_memory=out_of_memory))


def _raising(error: BaseException) -> Act:
    def act(_: Line) -> Line:
        raise error

    return act


class ScriptedWorkers:
    """A factory of test workers. They share `script`, a list of functions. Each function answers one job.

    After the last function, `echoes` answers all jobs. `jobs` holds the lines of jobs. `notices` holds the lines that
    get no answer. `started` and `closed` count workers. `pauses` holds the arguments of `sleep`.
    """

    def __init__(self, script: Sequence[Act] = (), starts: Sequence[BaseException | None] = ()) -> None:
        self._script, self._starts = list(script), list(starts)
        self._lock = threading.Lock()
        self.jobs: list[Line] = []
        self.notices: list[Line] = []
        self.pauses: list[float] = []
        self.started = self.closed = 0

    def start(self, slot: int) -> ScriptedWorker:
        """Return a new worker. If the next item of `starts` is an error, raise this error instead."""
        error = self._starts.pop(0) if self._starts else None
        if error is not None:
            raise error
        self.started += 1
        return ScriptedWorker(self, self.started)

    def sleep(self, seconds: float) -> None:
        """Record a pause without waiting."""
        self.pauses.append(seconds)

    def act(self, line: Line) -> Line:
        """Answer a job's line with the next function of the script."""
        with self._lock:
            self.jobs.append(line)
            act = self._script.pop(0) if self._script else echoes()
        return act(line)


class ScriptedWorker:
    """A worker that takes its answers from a shared script. The id of its container contains the worker's number."""

    def __init__(self, workers: ScriptedWorkers, number: int) -> None:
        self._workers = workers
        self.container_id = f"container {number}"
        self.started = FIRST_START + timedelta(seconds=number - 1)

    def ask(self, line: Line, timeout_s: float, on_sleep: OnSleep | None = None) -> Line:
        """Answer a job's line with the next function of the shared script. Its job never sleeps."""
        return self._workers.act(line)

    def tell(self, line: Line) -> None:
        """Record a line that gets no answer."""
        self._workers.notices.append(line)

    def close(self) -> None:
        """Increase the factory's count of closed workers."""
        self._workers.closed += 1
