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
    is empty for an external suite. `since` maps the tasks that were added or reworded later to their versions.
    `editions` maps the names of the suite's editions to their instructions by task. `moved` maps tasks of earlier
    versions to the suites that have them now, and `moved_in` maps these suites to the version in which the tasks left.
    """

    version: str
    tasks: tuple[str, ...]
    earlier_versions: tuple[str, ...] = ()
    instructions: Mapping[str, str] = field(default_factory=dict)
    since: Mapping[str, str] = field(default_factory=dict)
    editions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    moved_in: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        manifest: SuiteManifest,
        tasks: Iterable[Task],
        editions: Mapping[str, Mapping[str, str]] | None = None,
        moved: Mapping[str, str] | None = None,
    ) -> Self:
        """Build the information on a suite from its manifest and its tasks. The class describes the other values."""
        listed = tuple(tasks)
        shown = {} if manifest.foreign else {task.id: task.nl for task in listed}
        since = {task.id: task.since for task in listed if task.since is not None}
        names = tuple(task.id for task in listed)
        others = (editions or {}, moved or {}, manifest.moved)
        return cls(manifest.version, names, manifest.earlier_versions, shown, since, *others)

    def of_edition(self, name: str) -> SuiteInfo | None:
        """Return the information on an edition of the suite, or None if there is no such edition."""
        instructions = self.editions.get(name)
        return None if instructions is None else SuiteInfo(self.version, tuple(instructions), (), instructions)

    @property
    def versions(self) -> tuple[str, ...]:
        """Return all versions of the suite. The current version is first."""
        return (self.version, *self.earlier_versions)

    def asks_other_tasks_than(self, version: str) -> bool:
        """Return whether the major numbers of `version` and the current version differ. If so, their tasks differ."""
        return version_numbers(version)[0] != version_numbers(self.version)[0]

    def lost_tasks_since(self, version: str) -> bool:
        """Return whether tasks of this version of the suite are now in another suite."""
        return any(version_numbers(version) < version_numbers(left) for left in self.moved_in.values())

    def not_asked_of(self, version: str) -> tuple[str, ...]:
        """Return the tasks that were added or reworded after a version of the suite, in order."""
        earlier = version_numbers(version)
        return tuple(task for task in self.tasks if task in self.since and version_numbers(self.since[task]) > earlier)

    def is_older_than(self, version: str) -> bool:
        """Return whether the suite's current version is older than `version`. Then `version` does not exist yet."""
        return version_numbers(self.version) < version_numbers(version)
