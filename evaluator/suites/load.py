"""This module loads a suite: it reads a folder into records and reports every problem with its file and line."""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.json_lines import LineProblems, read_json_lines
from evaluator.records import Instructions, Record, SuiteManifest, Task, WorldManifest, digest_of
from evaluator.records.record import read_format
from evaluator.records.suites import MAX_SHORT_INSTRUCTION
from evaluator.suites import task_kinds
from evaluator.suites.questioned_references import (
    RETIRED,
    RetiredCommand,
    least_references,
    overrides_path,
    raised_manifest,
    read_retirements,
    without_retired,
)
from evaluator.wording import name_hint

SINCE_FORMAT: Final = 3
"""The lowest format of suite.toml in which tasks may have `since` and `timing.measurements`."""

VARIANTS_FORMAT: Final = 4
"""The lowest format of suite.toml in which tasks may have `variants`."""

DRIVER_FORMAT: Final = 6
"""The lowest format of suite.toml in which tasks may have `driver` and `answer`."""

TIER_FORMAT: Final = 7
"""The lowest format of suite.toml in which tasks may have `tier` and long instructions."""

WALL_FORMAT: Final = 8
"""The lowest format of suite.toml in which tasks may have `wall_s`."""

PRELUDE: Final = "prelude.sh"
"""The file beside the worlds that is put before the build script of each world."""

RecordType = TypeVar("RecordType", bound=Record)


@dataclass(frozen=True, slots=True)
class SuiteWorld:
    """One world in a suite's folder: a manifest, a build script, and an optional script that starts processes."""

    name: str
    manifest: WorldManifest
    build: bytes
    start: bytes | None


@dataclass(frozen=True, slots=True)
class Suite:
    """A complete suite. `tasks` are sorted by path and line number. `worlds` maps names to worlds.

    `tasks` have no retired references. `retired` maps the id of a task to its retired references.

    `kinds` holds the tasks whose instructions have another precision than the suite's manifest says.
    """

    folder: Path
    manifest: SuiteManifest
    worlds: Mapping[str, SuiteWorld]
    tasks: tuple[Task, ...]
    kinds: Mapping[str, Instructions] = field(default_factory=dict)
    retired: Mapping[str, tuple[RetiredCommand, ...]] = field(default_factory=dict)

    def instructions(self, task: Task) -> Instructions:
        """Return the precision of a task's instruction."""
        return self.kinds.get(task.id, self.manifest.instructions)

    def contested(self, task: Task) -> frozenset[str]:
        """Return the names of a task's contested variants, in which two right commands may differ."""
        variants = self.worlds[task.world].manifest.variants
        return frozenset(variant.name for variant in variants if variant.contested)

    def task(self, name: str) -> Task:
        """Return the task with this id. Raises UsageError with similar ids if there is no such task."""
        task = next((task for task in self.tasks if task.id == name), None)
        if task is None:
            listing = f"bashboard suite show {self.manifest.name}"
            hint = name_hint(name, [task.id for task in self.tasks], listing)
            raise UsageError(f"suite {self.manifest.name} has no task {name!r}{hint}")
        return task

    def variants(self, task: Task) -> tuple[str, ...]:
        """Return the names of the variants in which a task runs, in the order of execution."""
        names = self.worlds[task.world].manifest.execution_order
        return tuple(name for name in names if name in task.variants) if task.variants else names


def find_suites(fixtures: Path) -> dict[str, Path]:
    """Return a mapping from the names of the suites below `fixtures` to their folders."""
    return {file.parent.name: file.parent for file in sorted(fixtures.glob("*/suite.toml"))}


def load_suite(folder: Path) -> Suite:
    """Read a suite without its retired references. A process parses files with the same content once.

    Raises FormatError with all problems, and UsageError if `folder` has no suite.toml.
    """
    try:
        digest = _content_digest(folder, folder.parent / "overrides" / folder.name)
    except OSError:  # reading reports the file
        return _without_retired(load_written_suite(folder))
    return _load_content(folder, digest)


@lru_cache(maxsize=8)
def _load_content(folder: Path, digest: str) -> Suite:
    return _without_retired(load_written_suite(folder))


def _content_digest(*folders: Path) -> str:
    """Return the digest of the paths and contents of all files in these folders."""
    paths = sorted(Path(place) / name for folder in folders for place, _, names in os.walk(folder) for name in names)
    return digest_of(*(part for path in paths for part in (os.fsencode(path), path.read_bytes())))


def _without_retired(suite: Suite) -> Suite:
    """Remove the retired references from a suite, and raise its version. Raises FormatError with all problems."""
    path = overrides_path(suite.folder, RETIRED)
    retirements = read_retirements(path)
    if not retirements:
        return suite
    problems, tasks, retired = [], [], {}
    for task in suite.tasks:
        try:
            reduced = without_retired(task, retirements, external=suite.manifest.foreign)
        except ValueError as error:
            number = next(number for number, line in retirements if line.task == task.id)
            problems.append(Problem(path, number, f"retires too much: {error}"))
            continue
        tasks.append(reduced.task)
        if reduced.retired:
            retired[task.id] = reduced.retired
    if problems:
        raise FormatError(problems)
    manifest = raised_manifest(suite.manifest, retirements, suite.tasks)
    return replace(suite, manifest=manifest, tasks=tuple(tasks), retired=retired)


def load_written_suite(folder: Path) -> Suite:
    """Read a suite as its files say, with retired references. Raises the same errors as `load_suite`."""
    if not (folder / "suite.toml").is_file():
        raise UsageError(f"{folder} holds no suite: expected a suite.toml in it")
    problems: list[Problem] = []
    manifest = _read_toml(folder / "suite.toml", SuiteManifest, problems)
    if manifest is not None and manifest.name != folder.name:
        problems.append(Problem(folder / "suite.toml", 0, f"name: expected {folder.name!r}, found {manifest.name!r}"))
    prelude = folder / "worlds" / PRELUDE
    before = prelude.read_bytes() if prelude.is_file() else b""
    folders = [path for path in sorted(folder.glob("worlds/*")) if path.is_dir()]
    worlds = {path.name: _read_world(path, before, problems) for path in folders}
    files = sorted((folder / "tasks").rglob("*.jsonl"))
    tasks = [entry for file in files for entry in _read_tasks(file, problems)]
    if not files:
        problems.append(Problem(folder / "tasks", 0, "holds no tasks: expected a <topic>.jsonl for every topic"))
    problems += _variantless(manifest, tasks, worlds)
    problems += _without_base(folder, manifest, worlds)
    problems += _too_early(folder, manifest, worlds)
    problems += _contradictions(tasks, worlds.keys(), external=manifest is not None and manifest.foreign)
    problems += _untimely(manifest, tasks) if manifest else ()
    problems += _misplaced(folder / "tasks", tasks)
    overrides = folder.parent / "overrides" / folder.name / task_kinds.FILE
    kinds = task_kinds.read_task_kinds(overrides, {task.id for _, _, task in tasks}, problems)
    if manifest is None or problems:
        raise FormatError(problems)
    complete = {name: world for name, world in worlds.items() if world is not None}
    return Suite(folder, manifest, complete, tuple(task for _, _, task in tasks), kinds)


def _problems_of(error: ValidationError, path: Path, line: int) -> Iterator[Problem]:
    for detail in error.errors(include_url=False, include_context=False):
        field = ".".join(str(part) for part in detail["loc"]) or "the line"
        yield Problem(path, line, f"{field}: {detail['msg']}, found {detail['input']!r:.100}")


def _read(value: Any, record: type[RecordType], path: Path, line: int, problems: list[Problem]) -> RecordType | None:
    try:
        read_format(value, path.name, record.newest_format)
        return record.model_validate(value)
    except ValidationError as error:
        problems.extend(_problems_of(error, path, line))
    except ValueError as error:
        problems.append(Problem(path, line, str(error)))
    return None


def _read_toml(path: Path, record: type[RecordType], problems: list[Problem]) -> RecordType | None:
    try:
        value = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        problems.append(Problem(path, 0, f"does not read as TOML: {error}"))
        return None
    return _read(value, record, path, 0, problems)


def _read_world(folder: Path, prelude: bytes, problems: list[Problem]) -> SuiteWorld | None:
    manifest = _read_toml(folder / "world.toml", WorldManifest, problems)
    twice = _repeated(variant.name for variant in manifest.variants) if manifest else []
    problems += [
        Problem(folder / "world.toml", 0, f"variant {name} stands twice: expected another name") for name in twice
    ]
    build, start = folder / "build.sh", folder / "start.sh"
    if not build.is_file():
        problems.append(Problem(build, 0, "is missing: expected the script that builds the world"))
        return None
    if manifest is None:
        return None
    script = start.read_bytes() if start.is_file() else None
    return SuiteWorld(folder.name, manifest, prelude + build.read_bytes(), script)


def _read_tasks(path: Path, problems: list[Problem]) -> Iterator[tuple[Path, int, Task]]:
    broken, wrong = LineProblems(path), list[Problem]()
    for number, _, value in read_json_lines(path.read_bytes(), broken):
        task = _read(value, Task, path, number, wrong)
        if task is not None:
            yield path, number, task
    problems += sorted([*broken.all(), *wrong], key=lambda problem: problem.line)


def _repeated(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _untimely(manifest: SuiteManifest, tasks: list[tuple[Path, int, Task]]) -> Iterator[Problem]:
    """Yield a problem for each field that is too new for the suite's format, and for each unknown `since`."""
    versions = (manifest.version, *manifest.earlier_versions)
    for path, line, task in tasks:
        has_measurements = task.timing is not None and task.timing.measurements is not None
        new = {
            "since": (task.since is not None, SINCE_FORMAT),
            "timing.measurements": (has_measurements, SINCE_FORMAT),
            "driver": (task.driver is not None, DRIVER_FORMAT),
            "tier": (task.tier is not None, TIER_FORMAT),
            "wall_s": (task.wall_s is not None, WALL_FORMAT),
            f"nl of more than {MAX_SHORT_INSTRUCTION} characters": (len(task.nl) > MAX_SHORT_INSTRUCTION, TIER_FORMAT),
        }
        for name, (is_present, lowest) in new.items():
            if is_present and manifest.format < lowest:
                message = f"task {task.id}: {name}: expected format = {lowest} in suite.toml, which brought it"
                yield Problem(path, line, message)
        if task.since is not None and manifest.format >= SINCE_FORMAT and task.since not in versions:
            message = f"task {task.id}: since: expected one of {', '.join(versions)}, found {task.since}"
            yield Problem(path, line, message)


def _misplaced(folder: Path, tasks: list[tuple[Path, int, Task]]) -> Iterator[Problem]:
    """Yield a problem for each task whose tier is not that of its folder. A suite has tiers for all tasks or for none.

    The files are `tasks/<tier>/<topic>.jsonl` in a suite with tiers, and `tasks/<topic>.jsonl` in other suites.
    """
    for path, line, task in tasks:
        expected = "/".join(path.relative_to(folder).parts[:-1])
        if (task.tier or "") != expected:
            message = f"tier: expected {expected or 'none'}, as the folder of the file, found {task.tier or 'none'}"
            yield Problem(path, line, f"task {task.id}: {message}")
    mixed = next((entry for entry in tasks if (entry[2].tier is None) is not (tasks[0][2].tier is None)), None)
    if mixed is not None:
        path, line, task = mixed
        message = f"task {task.id}: tier: expected a tier for all tasks of the suite, or for none"
        yield Problem(path, line, message)


def _without_base(
    folder: Path, manifest: SuiteManifest | None, worlds: Mapping[str, SuiteWorld | None]
) -> Iterator[Problem]:
    """Yield a problem for each world that names a base that the suite does not declare."""
    for name, world in worlds.items():
        base = world.manifest.base if world else None
        if manifest is not None and base is not None and base not in manifest.bases:
            declared = f"one of {', '.join(manifest.bases)}" if manifest.bases else "none, as suite.toml declares none"
            yield Problem(folder / "worlds" / name / "world.toml", 0, f"base: expected {declared}, found {base}")


def _too_early(
    folder: Path, manifest: SuiteManifest | None, worlds: Mapping[str, SuiteWorld | None]
) -> Iterator[Problem]:
    """Yield a problem for each variant whose clock is before the suite's, the latest time of the base image's files."""
    for name, world in worlds.items():
        for variant in world.manifest.variants if manifest and world else ():
            if manifest and variant.clock and variant.clock < manifest.clock:
                message = f"variant {variant.name}: clock: expected {manifest.clock.isoformat()} or later"
                path = folder / "worlds" / name / "world.toml"
                yield Problem(path, 0, f"{message}, as the suite's clock, found {variant.clock.isoformat()}")


def _variantless(
    manifest: SuiteManifest | None, tasks: list[tuple[Path, int, Task]], worlds: Mapping[str, SuiteWorld | None]
) -> Iterator[Problem]:
    """Yield the problems of the field `variants`: it is too new for the suite's format, or a variant is unknown."""
    for path, line, task in (entry for entry in tasks if entry[2].variants):
        if manifest is not None and manifest.format < VARIANTS_FORMAT:
            message = f"task {task.id}: variants: expected format = {VARIANTS_FORMAT} in suite.toml, which brought it"
            yield Problem(path, line, message)
        world = worlds.get(task.world)
        names = [variant.name for variant in world.manifest.variants] if world else []
        for name in (name for name in task.variants if world and name not in names):
            message = f"task {task.id}: variants: expected some of {', '.join(names)}, found {name}"
            yield Problem(path, line, message)


def _contradictions(
    tasks: list[tuple[Path, int, Task]], worlds: Collection[str], *, external: bool
) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for path, line, task in tasks:
        if task.id in seen:
            yield Problem(path, line, f"task {task.id} stands twice: expected another id than that of {seen[task.id]}")
        seen.setdefault(task.id, f"{path.name}:{line}")
        if task.world not in worlds:
            yield Problem(path, line, f"task {task.id} runs in world {task.world!r}: expected one of {sorted(worlds)}")
        if task.topic.value != path.stem:
            yield Problem(path, line, f"task {task.id} has topic {task.topic.value}: expected {path.stem}, as the file")
        least = least_references(task, external=external)
        if len(task.references) < least:
            yield Problem(
                path, line, f"task {task.id}: expected {least} references or more, found {len(task.references)}"
            )
