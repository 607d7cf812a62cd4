"""A study examiner for tests. It executes nothing. A dictionary maps each task to the only command that passes.

study = Study("core", "1.0.0", tasks, FakeExaminer({"files-001": b"ls"}), lines.append, clock, measured=2)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evaluator.study.sitting import AttemptResult


class FakeExaminer:
    """An examiner that executes nothing. `right` maps each task to the only command that passes.

    In place of an execution, it calls `meanwhile` with the command.
    """

    def __init__(
        self, right: Mapping[str, bytes], output: str = "", meanwhile: Callable[[bytes], object] = lambda _: None
    ) -> None:
        self._right, self._output, self._meanwhile = right, output, meanwhile
        self.calls: list[tuple[str, bytes]] = []

    def examine(self, task: str, command: bytes) -> AttemptResult:
        """Pass the command if `right` names it for the task. Return always the same output."""
        self.calls.append((task, command))
        self._meanwhile(command)
        passed = self._right[task] == command
        return AttemptResult(passed, "done" if passed else "not done", self._output)
