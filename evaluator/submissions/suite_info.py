"""The information on a suite that a submission is checked against: its versions and the names of its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from evaluator.records import SuiteManifest, Task
from evaluator.records.record import version_numbers


@dataclass(frozen=True, slots=True)
class SuiteInfo:
    """A suite as a submission sees it. `tasks` are the task names in the suite's current version, in order.

    `instructions` maps these names to instructions, so that an answer to another instruction is detected.
    """

    version: str
    tasks: tuple[str, ...]
    earlier_versions: tuple[str, ...] = ()
    instructions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, manifest: SuiteManifest, tasks: Iterable[Task]) -> Self:
        """Return the information from a suite's own records."""
        instructions = {task.id: task.nl for task in tasks}
        return cls(manifest.version, tuple(instructions), manifest.earlier_versions, instructions)

    @property
    def versions(self) -> tuple[str, ...]:
        """Return all versions of the suite, the current one first."""
        return (self.version, *self.earlier_versions)

    def asks_other_tasks_than(self, version: str) -> bool:
        """Return whether another version has other tasks. This is so if the major version numbers differ."""
        return version_numbers(version)[0] != version_numbers(self.version)[0]

    def is_older_than(self, version: str) -> bool:
        """Return whether `version` is newer than this suite. Such a version does not exist yet."""
        return version_numbers(self.version) < version_numbers(version)
