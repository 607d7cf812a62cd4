"""This module writes a small checkout for a test to an empty folder: suites and submissions, as in a repository.

The pipeline and the command line read all their input from a checkout, so a test can execute them end to end.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evaluator.json_lines import lines_with_ends
from evaluator.pipeline.project import Project
from evaluator.records import Task, json_lines
from evaluator.suites.load import Suite, load_suite
from evaluator.testing.evidence import Raw, raw, task

_SUITE: Final = """format = 1
name = "{name}"
version = "{version}"
title = "A small suite"
description = "Made for a test."
clock = {clock}
cwd = "/srv"

[base]
release = "trixie"
{packages}
[limits]
cpu_s = {cpu_s}

[environment]
{environment}
"""
_SUBMISSION: Final = """format = 1
system = "{system}"
open_weights = true
method = "{method}"
{models}
[[authors]]
name = "Bashboard"

[suites]
{suites}
"""

BUILD: Final = b"mkdir -p /srv\n"
ENVIRONMENT: Final[Mapping[str, str]] = {"PATH": "/usr/bin:/bin", "HOME": "/root"}


def small_task(name: str, references: Iterable[Raw] = ("right", "right too"), **fields: Any) -> Task:
    """Return a task for tests. By default, the judge compares outputs byte by byte."""
    mode, observe = fields.pop("output", "exact"), fields.pop("observe", ())
    return task(mode, observe, **{"id": name, "references": tuple(map(raw, references)), "topic": "files", **fields})


def write_suite(
    root: Path,
    tasks: Sequence[Task],
    *,
    name: str = "tiny",
    version: str = "1.0.0",
    clock: str = "2025-03-14T09:30:00Z",
    cpu_s: float = 2.0,
    environment: Mapping[str, str] = ENVIRONMENT,
    packages: Sequence[str] = (),
    variants: Mapping[str, int] | None = None,
    build: bytes = BUILD,
    start: bytes | None = None,
    contested: Collection[str] = (),
    instructions: str = "precise",
    fresh: Mapping[str, str] | None = None,
) -> Path:
    """Write a suite below `root`, in place of any suite with this name, and return the suite's folder.

    All worlds of the tasks have the same scripts. `variants` maps names of variants to seeds. By default there are two
    variants, `one` and `two`. `fresh` maps names of worlds to the variants that their fresh variants are like. A suite
    with the clock and the `packages` of another one shares its image.
    """
    folder = root / "fixtures" / name
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    values = "\n".join(f'{key} = "{value}"' for key, value in environment.items())
    listed = f"packages = {json.dumps(list(packages))}\n" if packages else ""
    text = _SUITE.format(name=name, version=version, clock=clock, cpu_s=cpu_s, environment=values, packages=listed)
    if instructions != "precise":
        text = text.replace("format = 1", f'format = 5\ninstructions = "{instructions}"', 1)
    if any(line.driver for line in tasks):
        text = text.replace("format = 1", "format = 6", 1).replace("format = 5", "format = 6", 1)
    if any(line.wall_s for line in tasks):
        text = "format = 8\n" + text.partition("\n")[2]
    (folder / "suite.toml").write_text(text)
    for topic in sorted({line.topic.value for line in tasks}):
        lines = json_lines(line for line in tasks if line.topic.value == topic)
        (folder / "tasks" / f"{topic}.jsonl").write_text(lines)
    for world in sorted({line.world for line in tasks}):
        place = folder / "worlds" / world
        _write_world(place, variants or {"one": 1, "two": 2}, build, start, contested)
        if fresh and world in fresh:
            text = (place / "world.toml").read_text().partition("\n")[2]
            (place / "world.toml").write_text(f'format = 4\nfresh = "{fresh[world]}"\n{text}')
    return folder


def _write_world(
    folder: Path, variants: Mapping[str, int], build: bytes, start: bytes | None, contested: Collection[str]
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    marks = {name: "contested = true\n" if name in contested else "" for name in variants}
    rows = "".join(f'\n[[variants]]\nname = "{name}"\nseed = {seed}\n{marks[name]}' for name, seed in variants.items())
    (folder / "world.toml").write_text(f'format = {2 if contested else 1}\ntitle = "A world"\n{rows}')
    (folder / "build.sh").write_bytes(build)
    if start is not None:
        (folder / "start.sh").write_bytes(start)


def small_suite(root: Path, tasks: Sequence[Task], **fields: Any) -> Suite:
    """Write a suite with `write_suite`, and load it."""
    return load_suite(write_suite(root, tasks, **fields))


def write_submission(
    root: Path,
    slug: str,
    answers: Mapping[str, Sequence[str]],
    *,
    suite: str = "tiny",
    version: str = "1.0.0",
    method: str = "other",
    models: Sequence[str] = (),
) -> Path:
    """Write a submission below `root` and return its folder. `answers` maps each task to commands, best first."""
    folder = root / "submissions" / slug
    folder.mkdir(parents=True, exist_ok=True)
    named = f"models = {json.dumps(list(models))}\n" if models else ""
    fields = {"system": slug, "suites": f'{suite} = "{version}"', "method": method, "models": named}
    (folder / "submission.toml").write_text(_SUBMISSION.format(**fields))
    lines = (
        json.dumps({"task": name, "candidates": [{"command": command} for command in commands]})
        for name, commands in answers.items()
    )
    (folder / f"{suite}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def small_checkout(
    root: Path, tasks: Sequence[Task], answers: Mapping[str, Mapping[str, Sequence[str]]], **fields: Any
) -> Project:
    """Write the suite `tiny` with submissions, and return the project. `answers[slug][task]` holds commands.

    `fields` are those of `write_suite`.
    """
    write_suite(root, tasks, **fields)
    for slug, candidates in answers.items():
        write_submission(root, slug, candidates)
    return Project.find(root)


def copy_checkout(source: Path, root: Path, keep: Callable[[Mapping[str, Any]], bool] | None = None) -> Project:
    """Copy the tracked files of the repository `source` to `root`, without its tests, which are half of the files.

    With `keep`, omit the tasks for which it returns false, and the answers to them. A suite without a task is omitted.
    """
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=source, capture_output=True, check=True).stdout
    for name in tracked.decode().split("\0"):
        if name and not name.startswith("tests/") and (source / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, root / name)
    if keep is not None:
        _keep_tasks(root, keep)
    return Project.find(root)


def _keep_tasks(root: Path, keep: Callable[[Mapping[str, Any]], bool]) -> None:
    """Remove the other tasks of a checkout, the files of tasks without a task, and the answers to removed tasks."""
    kept: set[str] = set()
    for file in root.glob("fixtures/*/tasks/**/*.jsonl"):
        tasks = {line: json.loads(line) for line in lines_with_ends(file.read_bytes())}
        lines = [line for line, task in tasks.items() if keep(task)]
        kept.update(tasks[line]["id"] for line in lines)
        if lines:
            file.write_bytes(b"".join(lines))
        else:
            file.unlink()
    folders = [file.parent for file in root.glob("fixtures/*/suite.toml")]
    empty = {folder.name for folder in folders if not any((folder / "tasks").rglob("*.jsonl"))}
    for name in empty:
        shutil.rmtree(root / "fixtures" / name)
    for file in root.glob("submissions/*/*.jsonl"):
        answers = lines_with_ends(file.read_bytes())
        file.write_bytes(b"".join(line for line in answers if json.loads(line)["task"] in kept))
        if file.stem in empty:
            file.unlink()
            manifest = file.with_name("submission.toml")
            kept_lines = manifest.read_text().splitlines(keepends=True)
            manifest.write_text("".join(line for line in kept_lines if not line.startswith(f"{file.stem} = ")))
