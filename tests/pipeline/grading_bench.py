"""A harness for tests of grading: a small suite, a store that several graders use, and a fake executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator.judges import Judge, find_judge
from evaluator.pipeline.grading.cache_keys import GradingItem, MutantLookup, no_known_mutants
from evaluator.pipeline.grading.grader import Grader
from evaluator.progress import NullProgress
from evaluator.records import Finding, Task
from evaluator.store import Store
from evaluator.testing.checkouts import small_suite, small_task
from evaluator.testing.executor import FakeExecutor, Play, Shows

SHOWN: Mapping[str, str] = {"right": "yes\n", "right too": "yes\n", "also right": "yes\n", "wrong": "no\n"}


class GradingHarness:
    """Runs graders over one store. Each `grader` acts as a new process and has its own executor."""

    def __init__(self, root: Path) -> None:
        self.root, self.store = root, Store(root / "store.sqlite")
        self.tasks: list[Task] = [small_task("files-1")]

    def forget(self) -> None:
        """Replace the store by an empty one."""
        self.store.close()
        self.store.path.unlink()
        self.store = Store(self.root / "store.sqlite")

    def grader(
        self,
        play: FakeExecutor | Play | Mapping[str, Shows] = SHOWN,
        *,
        judge: str | Judge = "consensus",
        fingerprint: str = "f" * 64,
        spacing_s: float = 0.0,
        known_mutants: MutantLookup = no_known_mutants,
        **suite: Any,
    ) -> Grader:
        execution = play if isinstance(play, FakeExecutor) else FakeExecutor(play)
        loaded = small_suite(self.root, self.tasks, **suite)
        named = find_judge(judge) if isinstance(judge, str) else judge
        return Grader(
            loaded, named, self.store, fingerprint, execution, NullProgress(), spacing_s, known_mutants=known_mutants
        )

    def grade(
        self, commands: Sequence[str | None], play: FakeExecutor, *, task: str = "files-1", **fields: Any
    ) -> dict[str | None, Finding]:
        """Return the findings on these commands for one task, from a new grader."""
        subjects = {command: GradingItem(task, None if command is None else command.encode()) for command in commands}
        findings = self.grader(play, **fields).grade(subjects.values())
        return {command: findings[subject] for command, subject in subjects.items()}
