"""A participant's sitting: tasks in an order of their own, a clock for each, and a measurement when it ends.

The clock is the server's. It runs from when a task is shown to Enter of the command that passes, and stands while
a command is executed, because a machine's speed is not a person's. The first task is a warm-up: it is not measured.
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

MOST_SITTINGS: Final = 500
"""Held at once: a sitting is forgotten when its study ends, and nobody may fill the memory by joining."""


class Shown(NamedTuple):
    """What a command came to: whether it passed, that in words, and what one variant of the world printed."""

    passed: bool
    verdict: str
    output: str


class StudyExaminer(Protocol):
    """Executes and judges what participants type. Called from many threads."""

    def examine(self, task: str, command: bytes) -> Shown:
        """What a command does for a task. Raises InfraError where our machinery fails."""
        ...


class Shows(NamedTuple):
    """What a participant sees of a task. `warm_up` says that it is not measured."""

    number: int
    tasks: int
    warm_up: bool
    instruction: str
    place: str


@dataclass
class Sitting:
    """One participant's tasks, in their order. All times are readings of the study's clock, in seconds."""

    participant: str
    tasks: Sequence[Task]
    at: int = 0
    shown_at: float | None = None
    waited_s: float = 0.0
    busy: threading.Lock = field(default_factory=threading.Lock)


class Study:
    """Everybody's sittings on one suite. `places` say, by task, who the participant is and where."""

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
        """Begin a sitting; its key, which is not the participant's id: whoever reads the lines cannot go on in it."""
        participant, key = secrets.token_hex(8), secrets.token_urlsafe(24)
        order = random.Random(f"{self._seed} {participant}")  # noqa: S311 - an order, not a secret
        tasks = order.sample(self._tasks, min(self._measured + 1, len(self._tasks)))
        with self._lock:
            if len(self._sittings) >= MOST_SITTINGS:
                raise UsageError(
                    f"this study has had {MOST_SITTINGS} participants: whoever holds it must begin it anew"
                )
            self._sittings[key] = Sitting(participant, tasks)
        return key

    def show(self, key: str) -> Shows | None:
        """The present task, whose clock begins when it is first shown; None where all are done."""
        sitting = self._sitting(key)
        if sitting.at == len(sitting.tasks):
            return None
        task = sitting.tasks[sitting.at]
        if sitting.shown_at is None:
            sitting.shown_at = self._clock()
        return Shows(sitting.at, len(sitting.tasks) - 1, sitting.at == 0, task.nl, self._places(task))

    def enter(self, key: str, number: int, command: bytes) -> Shown:
        """Execute a command for the task of that number; where it passes the task is done and recorded."""
        entered_at = self._clock()
        sitting = self._sitting(key)
        if not sitting.busy.acquire(blocking=False):
            raise UsageError("the last command is still being executed")
        try:
            task, shown_at = self._present(sitting, number)
            seconds = entered_at - shown_at - sitting.waited_s
            shown = self._examiner.examine(task.id, command)
            if shown.passed:
                self._end(sitting, task, seconds, passed=True)
            return shown
        finally:
            sitting.waited_s += (self._clock() - entered_at) if sitting.shown_at is not None else 0.0
            sitting.busy.release()

    def skip(self, key: str, number: int) -> None:
        """Leave a task unsolved."""
        skipped_at = self._clock()
        sitting = self._sitting(key)
        with sitting.busy:
            task, shown_at = self._present(sitting, number)
            self._end(sitting, task, skipped_at - shown_at - sitting.waited_s, passed=False)

    def _sitting(self, key: str) -> Sitting:
        if key not in self._sittings:
            raise UsageError("this sitting is not known here: the study was begun anew; load the page again")
        return self._sittings[key]

    def _present(self, sitting: Sitting, number: int) -> tuple[Task, float]:
        """The present task and when it was shown, where it is the one that is meant."""
        if number != sitting.at or sitting.shown_at is None or number >= len(sitting.tasks):
            raise UsageError(f"task {number} is not the one that is shown")
        return sitting.tasks[sitting.at], sitting.shown_at

    def _end(self, sitting: Sitting, task: Task, seconds: float, *, passed: bool) -> None:
        if sitting.at > 0:
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
        sitting.at, sitting.shown_at, sitting.waited_s = sitting.at + 1, None, 0.0
