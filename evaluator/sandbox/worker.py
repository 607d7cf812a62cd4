"""The interface of a worker. It does not depend on the kind of container."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from evaluator.errors import SandboxError

Line = dict[str, Any]


class RetiredError(SandboxError):
    """The runner found leftovers of an earlier job and refused this one. The pool runs it in a fresh container."""


class OverdueError(SandboxError):
    """The runner did not finish a job in time. The pool runs the job again in a fresh container."""


@dataclass(frozen=True, slots=True)
class ExecutionOrigin:
    """The place of one execution: the container's id, the container's start in UTC, and the position in the container.

    The first job of a container has position 1. The origin is not part of the evidence or of its digest.
    """

    container: str
    started: datetime
    position: int


class WorkerDiedError(SandboxError):
    """The container ended during a job. The pool runs the job again to find out whether the command caused this."""

    def __init__(self, message: str, *, out_of_memory: bool) -> None:
        super().__init__(message)
        self.out_of_memory = out_of_memory


class Worker(Protocol):
    """A worker for jobs. Raises WorkerDiedError if the container has ended, EngineError if the engine failed."""

    @property
    def container_id(self) -> str:
        """Return the id of the container."""
        ...

    @property
    def started(self) -> datetime:
        """Return the start of the container in UTC."""
        ...

    def ask(self, line: Line, timeout_s: float) -> Line:
        """Send one line, and return the answer. Wait for at most `timeout_s` seconds."""
        ...

    def tell(self, line: Line) -> None:
        """Send one line that the runner does not answer."""
        ...

    def close(self) -> None:
        """Stop the worker and remove its container and files."""
        ...
