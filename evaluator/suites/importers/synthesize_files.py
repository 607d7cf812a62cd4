"""This module generates the files that commands name, for a corpus that was published without these files.

For a pattern, the module creates a file with a matching name. The files differ in age, mode and length, so that a
predicate on one of these properties selects only some files.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from evaluator.suites.importers.draft import CLOCK, UtilityCall
from evaluator.suites.importers.find_objects import FIND_FUNCTIONS
from evaluator.suites.importers.simple_commands import SimpleCommand

HOME: Final = "/home/user"

_AGES_S: Final = (1800, 5 * 3600, 30 * 3600, 3 * 86400, 20 * 86400, 90 * 86400, 400 * 86400)
_MODES: Final = ("644", "755", "600", "777", "640")
_NAMES: Final = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_BESIDE: Final = re.compile(r"-(?:newer\w*|anewer|cnewer|samefile)")
_NO_FILE: Final = re.compile(r"\.\.|[\0\n]|^-|//")
_UNTOUCHED: Final = ("/proc", "/sys", "/dev", "/run")
_MOST_CHARACTERS: Final = 120
_ACCOUNT: Final = re.compile(r"[a-z][a-z0-9_-]{0,30}")
_BRACKETS: Final = re.compile(r"\[([!^]?)([^\]]+)\]")


def required_paths(command: SimpleCommand, *, in_home: bool = True) -> dict[str, bool]:
    """Return the absolute paths that a command needs. A path's value is true if the path must be a folder.

    Unless `in_home` is set, no file for a pattern is directly in the home directory, because Bash would replace an
    unquoted pattern by the names of such files.
    """
    utility = command.utility
    flags = utility.flags
    paths = {path: _is_folder(utility, path) for operand in command.files for path in _paths(operand, HOME)}
    if utility.name in ("find", "ls", "du", "tree") and not command.files:
        paths[HOME] = True
    roots = [path for path, folder in paths.items() if folder] or [HOME]
    directories = ("-type", "d") in [tuple(flag) for flag in flags]
    for name, value in flags:
        if name in _NAMES:
            found = [path for path in _paths(value.removeprefix("*/"), roots[0]) if in_home or _depth(path) > 1]
            paths |= dict.fromkeys(found, directories)
        elif _BESIDE.fullmatch(name):
            paths |= dict.fromkeys(_paths(value, HOME), False)
    return {path: folder for path, folder in paths.items() if _may_create(path)}


def _depth(path: str) -> int:
    return path.removeprefix(f"{HOME}/").count("/") + 1


def required_accounts(command: SimpleCommand) -> dict[str, str]:
    """Map each user or group that a command names to the program that creates it (`useradd` or `groupadd`)."""
    programs = {"-user": "useradd -M", "-group": "groupadd"}
    accounts = {value: programs[name] for name, value in command.utility.flags if name in programs}
    if command.utility.name in ("id", "groups"):
        accounts |= dict.fromkeys(command.utility.arguments, "useradd -M")
    return {name: program for name, program in accounts.items() if _ACCOUNT.fullmatch(name)}


def _is_folder(utility: UtilityCall, operand: str) -> bool:
    last = operand.rstrip("/").rpartition("/")[2]
    if operand.endswith("/") or last in ("", ".", "user"):
        return True
    if utility.name in ("find", "tree", "du", "ls"):
        return utility.name == "find" or "." not in last.lstrip(".")
    recursive = {name for name, _ in utility.flags} & {"-r", "-R", "--recursive"}
    return bool(recursive) and "." not in last


def _paths(pattern: str, root: str) -> Iterator[str]:
    """Yield a path that matches a pattern. A pattern with `*` gives two paths. A relative pattern is below `root`."""
    for star in ("x", "long name") if "*" in pattern else ("x",):
        plain = _BRACKETS.sub(lambda match: "z" if match[1] else match[2][0], pattern.replace("\\", ""))
        plain = plain.replace("*", star).replace("?", "a").removeprefix("./")
        plain = f"{HOME}{plain[1:]}" if plain.startswith("~") else plain
        path = plain if plain.startswith("/") else f"{root.rstrip('/')}/{plain}" if plain not in ("", ".") else root
        yield path.rstrip("/") or "/"


def _may_create(path: str) -> bool:
    if path == "/" or path.startswith(_UNTOUCHED) or len(path) > _MOST_CHARACTERS:
        return False
    return not _NO_FILE.search(path)


def can_share_world(paths: Mapping[str, bool], existing: Mapping[str, bool]) -> bool:
    """Return whether new paths can be added to a world. They cannot if a path would be both a folder and a file."""
    for path, folder in paths.items():
        if existing.get(path, folder) is not folder or any(existing.get(above) is False for above in _above(path)):
            return False
        if not folder and any(other.startswith(f"{path}/") for other in existing):
            return False
    return True


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def build_script(
    paths: Mapping[str, bool],
    words: Iterable[str],
    accounts: Mapping[str, str],
    objects: Iterable[str] = (),
    in_order: Iterable[str] = (),
) -> str:
    """Return the script that builds a world with these paths. Objects of the base image stay unchanged.

    `words` are patterns that commands search for. Two of three files contain such patterns. `accounts` maps users and
    groups to the programs that create them. The script also creates one file for each user or group. `objects` are
    further shell lines, which create objects that `find` looks for. The lines of the files `in_order` are sorted.
    """
    lines = [
        *("#!/bin/bash", "# shellcheck disable=all", f"mkdir -p {HOME}", f"cd {HOME}", "umask 022"),
        'folder() { [ -e "$1" ] && return; mkdir -p -- "$1/inner"; '
        'printf "new in %s\\n%s" "$1" "$WORDS" > "$1/notes.txt"; '
        f'echo old > "$1/inner/old.log"; touch -d "@{int(CLOCK.timestamp()) - 40 * 86400}" "$1/inner/old.log"; }} '
        "2>/dev/null",
        'file() { [ -e "$1" ] && return; mkdir -p -- "${1%/*}"; cat > "$1"; chmod "$2" "$1"; '
        'touch -d "@$3" "$1"; } 2>/dev/null',
    ]
    patterns = list(dict.fromkeys(word for word in words if word.isprintable() and len(word) < 40))
    files = [path for path, folder in paths.items() if not folder]
    ordered = frozenset(in_order)
    lines.append(f"WORDS={shlex.quote(''.join(f'{word} here{chr(10)}' for word in patterns))}")
    lines += [f"folder {shlex.quote(path)}" for path, folder in paths.items() if folder]
    for number, path in enumerate(files):
        when = int(CLOCK.timestamp()) - _AGES_S[number % len(_AGES_S)]
        text = _text(number, patterns)
        text = "".join(sorted(text.splitlines(keepends=True))) if path in ordered else text
        lines.append(f"file {shlex.quote(path)} {_MODES[number % len(_MODES)]} {when} <<'.'\n{text}.")
    lines += [_OTHERS]
    for name, program in accounts.items():
        kind = "chgrp" if program == "groupadd" else "chown"
        lines.append(f"{program} {name} 2>/dev/null; touch of_{name}; {kind} {name} of_{name}")
    lines += [f"CLOCK={int(CLOCK.timestamp())}{FIND_FUNCTIONS}", *objects, "exit 0"]
    return "\n".join(lines) + "\n"


def _text(number: int, words: list[str]) -> str:
    """Return the text of generated file `number`. Two of three texts contain one or two of the `words`."""
    some = [words[(number + step) % len(words)] for step in range(2)] if words and number % 3 != 2 else []
    rows = [f"{(number * 7 + row * 5) % 13} name{row % 3} {row * number % 4}" for row in range(5 - number % 5)]
    return "".join(f"{line}\n" for line in (_COMMON, *rows, *some) if line != ".")


_COMMON: Final = "5 common 5"
"""A line of every generated file, for commands that look for what two files have in common."""

_OTHERS: Final = f"""mkdir -p kinds/deep/deeper kinds/empty 'kinds/with blank'
cd kinds
: > nothing
head -c 3000 /dev/zero | tr '\\0' x > three_kilobytes
truncate -s 2M two_megabytes
truncate -s 60M sixty_megabytes
echo '#!/bin/sh' > run.sh; chmod 4755 run.sh
echo hidden > .hidden; echo blank > 'with blank/a file.txt'; echo deep > deep/deeper/last.txt
ln -sf run.sh link; ln -sf nowhere broken; ln -f run.sh hard
chown nobody:nogroup nothing; chmod 2775 deep
find {HOME} -newermt @{int(CLOCK.timestamp()) - 60} -exec touch -h -d @{int(CLOCK.timestamp()) - 7200} {{}} +
cd {HOME}"""
"""One object of each kind that predicates select, except a pipe: `grep -R` would read it until its time limit."""
