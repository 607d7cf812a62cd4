"""The interface of a worker, which executes jobs in a container. It does not depend on the kind of container."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from evaluator.errors import SandboxError

Line = dict[str, Any]

OnSleep = Callable[[bool], None]
"""A function that is called with True when all processes of a job sleep, and with False when one is awake again."""


class RetiredError(SandboxError):
    """The runner found leftovers of an earlier job and refused the next job.

    The pool runs the refused job in a new container.
    """


class OverdueError(SandboxError):
    """The runner did not finish a job in time. The pool runs the job again in a new container."""


@dataclass(frozen=True, slots=True)
class ExecutionOrigin:
    """The origin of evidence: a container's id, the container's start in UTC, and the job's position in the container.

    The first job of a container has position 1. The origin is not part of the evidence or of the evidence's digest.
    """

    container: str
    started: datetime
    position: int


class WorkerDiedError(SandboxError):
    """The worker's container ended during a job. The pool runs the job again to find the cause."""

    def __init__(self, message: str, *, out_of_memory: bool) -> None:
        super().__init__(message)
        self.out_of_memory = out_of_memory


class Worker(Protocol):
    """The interface of a worker, which runs jobs in a container.

    Its methods raise WorkerDiedError if the container has ended, and EngineError if the engine failed.
    """

    @property
    def container_id(self) -> str:
        """Return the id of the container."""
        ...

    @property
    def started(self) -> datetime:
        """Return the start of the container in UTC."""
        ...

    def ask(self, line: Line, timeout_s: float, on_sleep: OnSleep | None = None) -> Line:
        """Send one line to the runner, and return the runner's answer. Wait for at most `timeout_s` seconds.

        Meanwhile, call `on_sleep` when all processes of the job fall asleep, and when one wakes.
        """
        ...

    def tell(self, line: Line) -> None:
        """Send the runner one line that needs no answer, such as the description of a world."""
        ...

    def close(self) -> None:
        """Stop the worker and remove its container and files."""
        ...
