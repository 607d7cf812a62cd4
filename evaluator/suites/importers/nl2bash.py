"""NL2Bash: pairs of an instruction and a command, without any files to run the commands on.

Only commands that stand alone are taken (`atomic`), and only those that look: what changes state has nothing to be
compared with beyond its one reference. The files that commands name are made (`seeding`), those of some hundred
commands in one world, so that every command has names beside its own that it must not find. A task's id is the line
that its pair stands in.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.records import OutputMode, SuiteSource, Task
from evaluator.suites.importers.command_traits import topic_of
from evaluator.suites.importers.draft import ENVIRONMENT, Draft, DraftWorld, Read, manifest_of
from evaluator.suites.importers.simple_commands import Atomic, LeftOutError, atomic
from evaluator.suites.importers.synthesize_files import HOME, accounts_of, build_script, fits, seeds_of

PACKAGES: Final = ("bsdextrautils", "file", "gawk", "ncal", "tree", "xxd")
TASKS_A_WORLD: Final = 100
_LOOKED_BACK: Final = 8
"""Worlds that a task is tried in before a new one is made."""

_UNORDERED: Final = frozenset({"find", "ls", "du", "tree", "grep", "egrep", "fgrep"})


@dataclass(slots=True)
class _World:
    """A world in the making: what stands in it, what is looked for, who is asked for, and how many tasks it has."""

    seeds: dict[str, bool] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    accounts: dict[str, str] = field(default_factory=dict)
    tasks: int = 0

    def takes(self, seeds: dict[str, bool]) -> bool:
        return self.tasks < TASKS_A_WORLD and fits(seeds, self.seeds)

    def take(self, seeds: dict[str, bool], found: Atomic) -> None:
        self.seeds |= seeds
        self.accounts |= accounts_of(found)
        self.tasks += 1
        if found.utility.name.endswith("grep") and found.utility.arguments:
            self.words.append(found.utility.arguments[0])


def draft_nl2bash(read: Read, path: Path | None = None) -> Draft:
    """The suite from a folder or clone with `all.nl` and `all.cm`. Raises UsageError, FormatError."""
    instructions, commands = _pairs(path)
    tasks, worlds, left_out = list[Task](), list[_World](), Counter[str]()
    for number, (nl, command) in enumerate(zip(instructions, commands, strict=True), 1):
        try:
            found = atomic(command, read)
        except LeftOutError as reason:
            left_out[str(reason)] += 1
            continue
        if not nl.strip():
            left_out["no instruction"] += 1
            continue
        place = _place(seeds_of(found), found, worlds)
        tasks.append(_task(number, nl.strip(), command.strip().encode(), place, found, read))
    if not tasks:
        raise UsageError(f"{path}: none of its {len(commands)} commands stands alone ({dict(left_out)})")
    source = SuiteSource(name="NL2Bash", version=f"{len(commands)} pairs", licence="MIT")
    description = f"{len(tasks)} pairs of NL2Bash whose command stands alone and only looks, in worlds made for them."
    environment = {**ENVIRONMENT, "HOME": HOME}
    manifest = manifest_of(
        "nl2bash", "NL2Bash, atomic", description, source, packages=PACKAGES, cwd=HOME, environment=environment
    )
    made = {_name(n): DraftWorld(f"What {w.tasks} commands name", build_script(w.seeds, w.words, w.accounts), HOME)
            for n, w in enumerate(worlds)}  # fmt: skip
    return Draft(manifest, made, tasks, left_out)


def _pairs(path: Path | None) -> tuple[list[str], list[str]]:
    """Instructions and commands, line by line."""
    found = sorted(path.rglob("all.nl")) if path and path.is_dir() else []
    if not found or not found[0].with_suffix(".cm").is_file():
        raise UsageError(
            f"nl2bash is imported from a folder with all.nl and all.cm; found {path or 'no path'}; "
            "type: bashboard suite add nl2bash PATH-OF-THE-FOLDER"
        )
    nl, cm = found[0], found[0].with_suffix(".cm")
    instructions, commands = (file.read_text("utf-8").removesuffix("\n").split("\n") for file in (nl, cm))
    if len(instructions) != len(commands):
        found_lines = f"expected as many lines as {nl.name} has, {len(instructions)}, found {len(commands)}"
        raise FormatError([Problem(cm, min(len(instructions), len(commands)) + 1, found_lines)])
    return instructions, commands


def _place(seeds: dict[str, bool], found: Atomic, worlds: list[_World]) -> int:
    """The number of a world that can have these files as well; a new one where none of the last can."""
    first = max(0, len(worlds) - _LOOKED_BACK)
    place = next((n for n in range(first, len(worlds)) if worlds[n].takes(seeds)), len(worlds))
    if place == len(worlds):
        worlds.append(_World())
    worlds[place].take(seeds, found)
    return place


def _name(place: int) -> str:
    return f"w{place + 1:03d}"


def _task(number: int, nl: str, command: bytes, place: int, found: Atomic, read: Read) -> Task:
    mode = OutputMode.SET if found.utility.name in _UNORDERED else OutputMode.LINES
    return Task(
        id=str(number),
        nl=nl[:2000],
        references=(command,),
        world=_name(place),
        output=mode,
        topic=topic_of(command, read),
        difficulty=1,
    )
