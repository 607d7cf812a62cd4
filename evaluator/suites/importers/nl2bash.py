"""This module imports NL2Bash: pairs of an instruction and a command, published without files.

The importer takes only single commands that change no state (see `simple_commands`). It creates the files that commands
name (see `synthesize_files`). About a hundred commands share a world. So a command that finds too many objects finds
the files of other commands. The id of a task is the line number of its pair.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evaluator.errors import UsageError
from evaluator.records import OutputMode, SuiteSource, Task
from evaluator.suites.importers.command_traits import topic_of
from evaluator.suites.importers.draft import ENVIRONMENT, CommandReader, Draft, DraftWorld, external_manifest
from evaluator.suites.importers.find_objects import find_object_lines, is_awkward
from evaluator.suites.importers.parallel_files import read_parallel_files
from evaluator.suites.importers.simple_commands import LeftOutError, SimpleCommand, read_simple_command
from evaluator.suites.importers.synthesize_files import (
    HOME,
    build_script,
    can_share_world,
    required_accounts,
    required_paths,
)

PACKAGES: Final = ("bsdextrautils", "file", "gawk", "ncal", "tree", "xxd")
TASKS_A_WORLD: Final = 100
_RECENT_WORLDS: Final = 8
"""The number of recent worlds to try for a task before a new world is added."""

_UNQUOTED: Final = re.compile(r"\s-i?(?:name|path|wholename)\s+[^\s'\"\\]*[*?]")
"""A pattern of `find` without quotes. Bash replaces it if several names in the current folder match."""

_SORTED_INPUT: Final = frozenset({"comm", "join"})
_UNORDERED: Final = frozenset({"find", "ls", "du", "tree", "grep", "egrep", "fgrep"})


@dataclass(slots=True)
class _World:
    """A world under construction: the paths, search words and accounts of its commands, and its number of tasks.

    `objects` are shell lines that create further objects. Commands of different kinds share no world.
    """

    kind: str = ""
    paths: dict[str, bool] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    accounts: dict[str, str] = field(default_factory=dict)
    objects: list[str] = field(default_factory=list)
    in_order: list[str] = field(default_factory=list)
    tasks: int = 0

    def can_add(self, kind: str, paths: dict[str, bool]) -> bool:
        return self.kind == kind and self.tasks < TASKS_A_WORLD and can_share_world(paths, self.paths)

    def add(self, paths: dict[str, bool], simple: SimpleCommand, objects: list[str]) -> None:
        self.paths |= paths
        self.objects += objects
        self.in_order += paths if simple.utility.name in _SORTED_INPUT else ()
        self.accounts |= required_accounts(simple)
        self.tasks += 1
        if simple.utility.name.endswith("grep") and simple.utility.arguments:
            self.words.append(simple.utility.arguments[0])

    def script(self) -> str:
        return build_script(self.paths, self.words, self.accounts, self.objects, self.in_order)


def draft_nl2bash(read: CommandReader, path: Path | None = None) -> Draft:
    """Return a draft of a suite from the instructions in `all.nl` and the commands in `all.cm` of a folder.

    Raises UsageError or FormatError if the folder is invalid.
    """
    instructions, commands = _pairs(path)
    tasks, worlds, left_out = list[Task](), list[_World](), Counter[str]()
    for number, (nl, command) in enumerate(zip(instructions, commands, strict=True), 1):
        try:
            simple = read_simple_command(command, read)
        except LeftOutError as reason:
            left_out[str(reason)] += 1
            continue
        if not nl.strip():
            left_out["no instruction"] += 1
            continue
        world = _choose_world(number, command, simple, worlds)
        tasks.append(_task(number, nl.strip(), command.strip().encode(), world, simple, read))
    if not tasks:
        raise UsageError(f"{path}: none of its {len(commands)} commands stands alone ({dict(left_out)})")
    source = SuiteSource(name="NL2Bash", version=f"{len(commands)} pairs", licence="MIT")
    description = f"{len(tasks)} pairs of NL2Bash whose command stands alone and only looks, in worlds made for them."
    environment = {**ENVIRONMENT, "HOME": HOME}
    manifest = external_manifest(
        "nl2bash", "NL2Bash, atomic", description, source, packages=PACKAGES, cwd=HOME, environment=environment
    )
    draft_worlds = {
        _name(index): DraftWorld(f"What {w.tasks} commands name", w.script(), HOME) for index, w in enumerate(worlds)
    }
    return Draft(manifest, draft_worlds, tasks, left_out)


def _pairs(path: Path | None) -> tuple[list[str], list[str]]:
    instructions, commands = read_parallel_files(path)
    if instructions is None or commands is None:
        raise UsageError(
            f"nl2bash is imported from a folder with all.nl and all.cm; found {path or 'no path'}; "
            "type: bashboard suite add nl2bash PATH-OF-THE-FOLDER"
        )
    return instructions, commands


def _choose_world(number: int, command: str, simple: SimpleCommand, worlds: list[_World]) -> int:
    """Add a command's files to one of the last worlds, or to a new world if none fits. Return the world's index.

    Commands with an unquoted pattern share worlds without files directly in the home directory. Commands that need
    awkward objects share worlds in which no command reads all files.
    """
    objects = find_object_lines(command, number, HOME)
    unquoted = simple.utility.name == "find" and _UNQUOTED.search(command) is not None
    kind = "awkward" if is_awkward(objects) else "unquoted" if unquoted else ""
    paths = required_paths(simple, in_home=not unquoted)
    same_kind = [index for index, world in enumerate(worlds) if world.kind == kind][-_RECENT_WORLDS:]
    index = next((index for index in same_kind if worlds[index].can_add(kind, paths)), len(worlds))
    if index == len(worlds):
        worlds.append(_World(kind))
    worlds[index].add(paths, simple, objects)
    return index


def _name(index: int) -> str:
    return f"w{index + 1:03d}"


def _task(number: int, nl: str, command: bytes, world: int, simple: SimpleCommand, read: CommandReader) -> Task:
    mode = OutputMode.SET if simple.utility.name in _UNORDERED else OutputMode.LINES
    return Task(
        id=str(number),
        nl=nl[:2000],
        references=(command,),
        world=_name(world),
        output=mode,
        topic=topic_of(command, read),
        difficulty=1,
    )
