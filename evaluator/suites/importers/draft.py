"""This module holds the draft of an external suite in memory and writes the draft to a folder below `fixtures/`.

The folder has the same layout as any other suite, so `load_suite` can read it. A `.gitignore` in the folder excludes
the whole folder, because the texts belong to their publisher and this repository never publishes them.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

from evaluator.errors import UsageError
from evaluator.records import (
    Base,
    Instructions,
    Limits,
    SuiteManifest,
    SuiteSource,
    Task,
    Variant,
    WorldManifest,
    json_lines,
)
from evaluator.suites.load import load_suite

CLOCK: Final = datetime(2025, 3, 14, 9, 30, tzinfo=UTC)
ENVIRONMENT: Final[Mapping[str, str]] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
}
LIMITS: Final = Limits(cpu_s=4.0, memory_mb=512, processes=256, disk_mb=128, inodes=60_000, output_kb=1024)
"""Higher limits than those of `core`: some references read the whole system, for example `find /` and `sysctl -a`."""

SCRATCH: Final = ("/tmp", "/var/tmp", "~/.cache", "/var/cache/apt", "/usr/lib/python3.13")  # noqa: S108 - in a world
"""Folders that are not compared: equal programs may leave different caches and compiled modules in them."""

DEFAULT_VARIANTS: Final = (Variant(name="plain", seed=1),)


class UtilityCall(Protocol):
    """The interface of one utility call within a command. The objects that `evaluator.shell` returns implement it."""

    @property
    def name(self) -> str:
        """Return the program's name without its folder."""
        ...

    @property
    def flags(self) -> Sequence[tuple[str, str]]:
        """Return the options of this call as pairs of a name and a value."""
        ...

    @property
    def arguments(self) -> Sequence[str]:
        """Return the operands of this call, without its options."""
        ...

    @property
    def nested(self) -> Sequence[UtilityCall]:
        """Return the utility calls that this utility runs."""
        ...

    def walk(self) -> Iterator[UtilityCall]:
        """Yield this utility call and all nested calls."""
        ...


CommandReader = Callable[[str | bytes], Sequence[UtilityCall] | None]
"""A function that returns a command's utilities in order, or None if the command cannot be parsed. The pipeline passes
it in, because `suites` may not import `evaluator.shell`.
"""


@dataclass(frozen=True, slots=True)
class DraftWorld:
    """One world of an external suite to write: title, build script, working directory, start script and variants.

    `base` names one of the manifest's further bases.
    """

    title: str
    build: str
    cwd: str = "/"
    start: str | None = None
    variants: tuple[Variant, ...] = DEFAULT_VARIANTS
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """An external suite to write. `left_out` maps each reason for omission to the number of omitted entries."""

    manifest: SuiteManifest
    worlds: Mapping[str, DraftWorld]
    tasks: Sequence[Task]
    left_out: Mapping[str, int]


def external_manifest(name: str, title: str, description: str, source: SuiteSource, **fields: Any) -> SuiteManifest:
    """Return an external suite's manifest. `fields` replace default values, such as the working directory."""
    packages = fields.pop("packages", ())
    values = {
        "cwd": "/",
        "clock": CLOCK,
        "limits": LIMITS,
        "environment": dict(ENVIRONMENT),
        "scratch": SCRATCH,
        **fields,
    }
    return SuiteManifest(
        format=SuiteManifest.newest_format,
        name=name,
        version="1.0.0",
        title=title,
        description=description,
        base=Base(packages=tuple(sorted(packages))),
        foreign=True,
        instructions=Instructions.OPEN,
        source=source,
        **values,
    )


def write_draft(draft: Draft, fixtures: Path, marks: Mapping[str, str] | None = None) -> Path:
    """Write the draft to the folder of its suite below `fixtures`, and return this folder. Replace an earlier folder.

    `marks` maps the names of more files in the folder to their texts. Raises UsageError if the existing folder is not
    an external suite, and FormatError if the written folder is not a valid suite.
    """
    folder = fixtures / draft.manifest.name
    if folder.exists() and not _is_external(folder):
        raise UsageError(f"{folder} is not an external suite: move it away, because `suite add` would replace it")
    fixtures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=_prefix(folder.name), dir=fixtures) as temporary:
        fresh = Path(temporary) / folder.name
        _write(draft, fresh)
        for name, text in (marks or {}).items():
            (fresh / name).write_text(text, "utf-8")
        load_suite(fresh)
        if folder.exists():
            folder.rename(Path(temporary) / "replaced")
        shutil.move(fresh, folder)
    return folder


def remove_leftovers(fixtures: Path, name: str) -> None:
    """Remove the temporary folders of a killed import. The caller ensures that no import of the suite is running."""
    for path in fixtures.glob(f"{_prefix(name)}*"):
        shutil.rmtree(path, ignore_errors=True)


def _prefix(name: str) -> str:
    return f".{name}.import."


def _is_external(folder: Path) -> bool:
    """Return whether a folder holds an external suite, even one in an earlier format that is not readable now."""
    try:
        return tomllib.loads((folder / "suite.toml").read_text("utf-8")).get("foreign") is True
    except (OSError, ValueError):
        return False


def _write(draft: Draft, folder: Path) -> None:
    folder.mkdir()
    (folder / ".gitignore").write_text("# these texts belong to their publisher: never commit them\n*\n")
    (folder / "suite.toml").write_text(toml_of(draft.manifest.model_dump(exclude_defaults=True)), "utf-8")
    (folder / "tasks").mkdir()
    for topic in sorted({task.topic for task in draft.tasks}):
        lines = json_lines(task for task in draft.tasks if task.topic is topic)
        (folder / "tasks" / f"{topic.value}.jsonl").write_text(lines, "utf-8")
    for name, world in draft.worlds.items():
        _write_world(world, folder / "worlds" / name)


def _write_world(world: DraftWorld, folder: Path) -> None:
    folder.mkdir(parents=True)
    manifest = WorldManifest(format=3, title=world.title, variants=world.variants, cwd=world.cwd, base=world.base)
    (folder / "world.toml").write_text(toml_of(manifest.model_dump(exclude_defaults=True)), "utf-8")
    (folder / "build.sh").write_text(world.build, "utf-8")
    if world.start is not None:
        (folder / "start.sh").write_text(f"#!/bin/bash\n# shellcheck disable=all\n{world.start}", "utf-8")


def toml_of(values: Mapping[str, Any]) -> str:
    """Return a record's fields as TOML: plain values first, then tables and lists of tables."""
    plain = {key: value for key, value in values.items() if not _is_table(value)}
    lines = [f"{key} = {_toml_value(value)}" for key, value in plain.items() if value is not None]
    for key, value in values.items():
        if key in plain:
            continue
        for head, table in _tables(key, value):
            lines += ["", head, *(f"{name} = {_toml_value(item)}" for name, item in table.items() if item is not None)]
    return "\n".join(lines) + "\n"


def _tables(key: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the head and the fields of each TOML table of a record, of a mapping to records, or of a list of them."""
    if not isinstance(value, dict):
        yield from ((f"[[{key}]]", each) for each in value)
    elif value and all(isinstance(each, dict) for each in value.values()):
        yield from ((f"[{key}.{name}]", each) for name, each in value.items())
    else:
        yield f"[{key}]", value


def _is_table(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list | tuple) and any(isinstance(one, dict) for one in value))


def _toml_value(value: object) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value)
