"""Workers that execute nothing: each answers from a script, so that a test can make them die when it likes.

    >>> crew = ScriptedWorkers([dies(), shows("done")])
    >>> with Pool(crew.start, size=1, wall_s=1, sleep=crew.sleep) as pool:
    ...     answers = list(pool.execute(requests))

What is tested with them is what the pool does with deaths and failures; what commands show is the real worker's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from evaluator.errors import EngineError
from evaluator.records import Evidence, Output
from evaluator.sandbox.worker import Line, WorkerDiedError

Act = Callable[[Line], Line]
"""What a worker does with one job's line: answer it, or raise."""


def shows(output: str = "", *, by_wall: bool = False, **fields: Any) -> Act:
    """An answer with this standard output; `fields` are the evidence's others."""
    evidence = Evidence.model_validate({"ending": "exited", "status": 0, **fields, "stdout": _output(output)})
    return lambda _: {"evidence": evidence.model_dump(mode="json"), "by_wall": by_wall}


def _output(text: str) -> Output:
    return Output(data=text.encode(), size=len(text.encode()))


def says(line: Line) -> Act:
    """An answer that is these words, whatever they are."""
    return lambda _: line


def echoes() -> Act:
    """An answer whose standard output is the command."""
    return lambda line: shows(str(line["command"]))(line)


def fails(error: BaseException | None = None) -> Act:
    """The engine goes away, or `error` is raised."""
    return _raising(error or EngineError("the engine went away"))


def dies(*, out_of_memory: bool = False) -> Act:
    """The container ends while it has the job."""
    return _raising(WorkerDiedError("the worker's container ended", out_of_memory=out_of_memory))


def _raising(error: BaseException) -> Act:
    def act(_: Line) -> Line:
        raise error

    return act


class ScriptedWorkers:
    """Starts workers that share one script of acts; when it is done, every further job is echoed.

    `asked` holds the lines of jobs and `told` those without an answer, in order; `started` and `closed` count
    workers, `pauses` holds what `sleep` was asked for.
    """

    def __init__(self, script: Sequence[Act] = (), starts: Sequence[BaseException | None] = ()) -> None:
        self._script, self._starts = list(script), list(starts)
        self._lock = threading.Lock()
        self.asked: list[Line] = []
        self.told: list[Line] = []
        self.pauses: list[float] = []
        self.started = self.closed = 0

    def start(self, place: int) -> ScriptedWorker:
        """A worker for that place; the next of `starts` is raised instead, if it is an error."""
        error = self._starts.pop(0) if self._starts else None
        if error is not None:
            raise error
        self.started += 1
        return ScriptedWorker(self)

    def sleep(self, seconds: float) -> None:
        """Note a pause and do not make it."""
        self.pauses.append(seconds)

    def act(self, line: Line) -> Line:
        """Do the script's next."""
        with self._lock:
            self.asked.append(line)
            act = self._script.pop(0) if self._script else echoes()
        return act(line)


class ScriptedWorker:
    """One worker of a crew."""

    def __init__(self, workers: ScriptedWorkers) -> None:
        self._workers = workers

    def ask(self, line: Line, timeout_s: float) -> Line:
        """The answer that the crew's script has for this line."""
        return self._workers.act(line)

    def tell(self, line: Line) -> None:
        """Note a line without an answer."""
        self._workers.told.append(line)

    def close(self) -> None:
        """Count the end of this worker."""
        self._workers.closed += 1
