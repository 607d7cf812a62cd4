"""A participant's sitting: tasks in random order, one clock per task, and one measurement per finished task.

The server runs the clock. The clock starts when a task is shown and stops when the participant enters a command that
passes. The clock stands still during each execution of a command, because the speed of the machine must not affect the
time. The first task is a warm-up and is not measured.
"""

from __future__ import annotations

import random
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from evaluator.errors import UsageError
from evaluator.records import Measurement, Task

MAX_SITTINGS: Final = 500
"""Maximum number of sittings in memory until the study ends, so that clients cannot fill the memory by joining."""


class AttemptResult(NamedTuple):
    """The result of a participant's command: whether it passed, the verdict in words, and the command's output."""

    passed: bool
    verdict: str
    output: str


class StudyExaminer(Protocol):
    """The executor and judge of participants' commands. The study calls it from many threads."""

    def examine(self, task: str, command: bytes) -> AttemptResult:
        """Execute and judge a command for a task. Raises InfraError if the execution fails for a technical reason."""
        ...


class TaskView(NamedTuple):
    """A task as the participant sees it. If `warm_up` is true, the task is not measured."""

    number: int
    tasks: int
    warm_up: bool
    instruction: str
    place: str


@dataclass
class Sitting:
    """One participant's tasks in random order, and the position of the current task.

    Times are in seconds on the study's clock.
    """

    participant: str
    tasks: Sequence[Task]
    position: int = 0
    shown_at: float | None = None
    paused_s: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Study:
    """A study: the sittings of all participants on one suite.

    `places` returns the user and folder in the shell prompt of a task.
    """

    def __init__(
        self,
        suite: str,
        version: str,
        tasks: Sequence[Task],
        examiner: StudyExaminer,
        record: Callable[[Measurement], None],
        clock: Callable[[], float],
        *,
        measured: int,
        seed: int = 0,
        places: Callable[[Task], str] = lambda task: "",
    ) -> None:
        self._suite, self._version, self._tasks = suite, version, tuple(tasks)
        self._examiner, self._record, self._clock = examiner, record, clock
        self._measured, self._seed, self._places = measured, seed, places
        self._sittings: dict[str, Sitting] = {}
        self._lock = threading.Lock()

    def join(self) -> str:
        """Begin a sitting and return its secret key.

        The key is not in the measurements. They contain only the participant's id.
        """
        participant, key = secrets.token_hex(8), secrets.token_urlsafe(24)
        order = random.Random(f"{self._seed} {participant}")  # noqa: S311 - not a secret
        tasks = order.sample(self._tasks, min(self._measured + 1, len(self._tasks)))
        with self._lock:
            if len(self._sittings) >= MAX_SITTINGS:
                raise UsageError(f"this study is full: {MAX_SITTINGS} participants; its organiser has to restart it")
            self._sittings[key] = Sitting(participant, tasks)
        return key

    def show(self, key: str) -> TaskView | None:
        """Return a sitting's current task, or None after the last task. The first call starts the task's clock."""
        sitting = self._sitting(key)
        if sitting.position == len(sitting.tasks):
            return None
        task = sitting.tasks[sitting.position]
        if sitting.shown_at is None:
            sitting.shown_at = self._clock()
        return TaskView(sitting.position, len(sitting.tasks) - 1, sitting.position == 0, task.nl, self._places(task))

    def enter(self, key: str, number: int, command: bytes) -> AttemptResult:
        """Execute and judge a participant's command for the current task. After a pass, go on to the next task."""
        entered_at = self._clock()
        sitting = self._sitting(key)
        if not sitting.lock.acquire(blocking=False):
            raise UsageError("the last command is still being executed")
        try:
            task, shown_at = self._current_task(sitting, number)
            seconds = entered_at - shown_at - sitting.paused_s
            result = self._examiner.examine(task.id, command)
            if result.passed:
                self._finish_task(sitting, task, seconds, passed=True)
            return result
        finally:
            sitting.paused_s += (self._clock() - entered_at) if sitting.shown_at is not None else 0.0
            sitting.lock.release()

    def skip(self, key: str, number: int) -> None:
        """Record that the participant skipped the current task, and go on to the next task."""
        skipped_at = self._clock()
        sitting = self._sitting(key)
        with sitting.lock:
            task, shown_at = self._current_task(sitting, number)
            self._finish_task(sitting, task, skipped_at - shown_at - sitting.paused_s, passed=False)

    def _sitting(self, key: str) -> Sitting:
        if key not in self._sittings:
            raise UsageError("unknown sitting: the study was restarted, so load the page again")
        return self._sittings[key]

    def _current_task(self, sitting: Sitting, number: int) -> tuple[Task, float]:
        """Return the current task and the time when it was shown. Raises UsageError if its number is not `number`."""
        if number != sitting.position or sitting.shown_at is None or number >= len(sitting.tasks):
            raise UsageError(f"task {number} is not the current task")
        return sitting.tasks[sitting.position], sitting.shown_at

    def _finish_task(self, sitting: Sitting, task: Task, seconds: float, *, passed: bool) -> None:
        """Record a measurement of the current task, unless it is the warm-up, and go on to the next task."""
        if sitting.position > 0:
            measurement = Measurement(
                format=1,
                participant=sitting.participant,
                suite=self._suite,
                version=self._version,
                task=task.id,
                seconds=round(max(0.0, seconds), 3),
                passed=passed,
            )
            self._record(measurement)
        sitting.position, sitting.shown_at, sitting.paused_s = sitting.position + 1, None, 0.0
