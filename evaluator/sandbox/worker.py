"""What a worker is to those who feed it, whatever it runs in."""

from __future__ import annotations

from typing import Any, Protocol

from evaluator.errors import SandboxError

Line = dict[str, Any]


class WorkerDiedError(SandboxError):
    """The container went away while a job was in it; the next worker can tell whose fault it was."""

    def __init__(self, message: str, *, out_of_memory: bool) -> None:
        super().__init__(message)
        self.out_of_memory = out_of_memory


class Worker(Protocol):
    """Where jobs run. Raises WorkerDiedError when it is gone, EngineError when the engine is."""

    def ask(self, line: Line, timeout_s: float) -> Line:
        """Send one line and wait for its answer, at most `timeout_s` seconds."""
        ...

    def tell(self, line: Line) -> None:
        """Send one line that has no answer."""
        ...

    def close(self) -> None:
        """Take the worker down; nothing of it is left."""
        ...
