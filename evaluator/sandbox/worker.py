"""The interface of a worker, independent of the container that it runs in."""

from __future__ import annotations

from typing import Any, Protocol

from evaluator.errors import SandboxError

Line = dict[str, Any]


class WorkerDiedError(SandboxError):
    """The container ended during a job. Further tries show whether the command or the world caused it."""

    def __init__(self, message: str, *, out_of_memory: bool) -> None:
        super().__init__(message)
        self.out_of_memory = out_of_memory


class Worker(Protocol):
    """Executes jobs. Raises WorkerDiedError if the container has ended, and EngineError if the engine has failed."""

    def ask(self, line: Line, timeout_s: float) -> Line:
        """Send one line and wait for its answer, at most `timeout_s` seconds."""
        ...

    def tell(self, line: Line) -> None:
        """Send one line that has no answer."""
        ...

    def close(self) -> None:
        """Stop the worker and remove everything that belongs to it."""
        ...
