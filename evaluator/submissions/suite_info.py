"""What checking a submission needs to know of a suite: its versions and its tasks' names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from evaluator.records import SuiteManifest, Task
from evaluator.records.record import version_numbers


@dataclass(frozen=True, slots=True)
class SuiteInfo:
    """A suite as a submission sees it; `tasks` are the names of its present version's, in order.

    `instructions` are theirs by name, so that an answer to another one is noticed.
    """

    version: str
    tasks: tuple[str, ...]
    earlier_versions: tuple[str, ...] = ()
    instructions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, manifest: SuiteManifest, tasks: Iterable[Task]) -> Self:
        """From the suite's own records."""
        instructions = {task.id: task.nl for task in tasks}
        return cls(manifest.version, tuple(instructions), manifest.earlier_versions, instructions)

    @property
    def versions(self) -> tuple[str, ...]:
        """Every version the suite ever had, the present one first."""
        return (self.version, *self.earlier_versions)

    def asks_other_tasks_than(self, version: str) -> bool:
        """True where an earlier version had other tasks: its major number is another (semantic versions)."""
        return version_numbers(version)[0] != version_numbers(self.version)[0]

    def is_older_than(self, version: str) -> bool:
        """True where a submission names a version that is still to come."""
        return version_numbers(self.version) < version_numbers(version)
