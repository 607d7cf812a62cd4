"""The information on a suite that a submission is checked against: its versions and the names of its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from evaluator.records import SuiteManifest, Task
from evaluator.records.record import version_numbers


@dataclass(frozen=True, slots=True)
class SuiteInfo:
    """The information on a suite that a check of a submission needs. `tasks` are its current task names, in order.

    `instructions` maps task names to instructions, so that the check detects an answer to a different instruction. It
    is empty for an external suite.
    """

    version: str
    tasks: tuple[str, ...]
    earlier_versions: tuple[str, ...] = ()
    instructions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, manifest: SuiteManifest, tasks: Iterable[Task]) -> Self:
        """Build the information on a suite from its manifest and its tasks."""
        instructions = {task.id: task.nl for task in tasks}
        shown = {} if manifest.foreign else instructions
        return cls(manifest.version, tuple(instructions), manifest.earlier_versions, shown)

    @property
    def versions(self) -> tuple[str, ...]:
        """Return all versions of the suite. The current version is first."""
        return (self.version, *self.earlier_versions)

    def asks_other_tasks_than(self, version: str) -> bool:
        """Return whether the major numbers of `version` and the current version differ. If so, their tasks differ."""
        return version_numbers(version)[0] != version_numbers(self.version)[0]

    def is_older_than(self, version: str) -> bool:
        """Return whether the suite's current version is older than `version`. Then `version` does not exist yet."""
        return version_numbers(self.version) < version_numbers(version)
