"""This module selects simple commands: one utility with its options and at most two literal operands.

A simple command has no pipe, redirection or substitution, and its utility belongs to coreutils, findutils or the text
tools. It changes no state, ends by itself and does not read standard input. So a judge needs only its output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from evaluator.suites.importers.draft import CommandReader, UtilityCall

MOST_OPERANDS: Final = 2


class LeftOutError(Exception):
    """A command is not simple, so the import leaves it out. The error's message is the reason."""


class SimpleCommand(NamedTuple):
    """A simple command: its utility, and the operands that name files or folders."""

    utility: UtilityCall
    files: tuple[str, ...]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILTERS: Final = _names(
    "cat head tail wc sort uniq cut nl tac rev paste join comm fold fmt od expand unexpand pr column hexdump xxd "
    "strings md5sum sha1sum sha256sum sha512sum cksum sum base64 tsort shuf"
)
"""Utilities that read the files in their operands, or standard input if there is none."""

_SCRIPTED: Final = _names("grep egrep fgrep sed awk gawk mawk")
"""Utilities with a pattern or program as their first operand, unless an option gives it."""

_INSPECTORS: Final = _names("find ls stat du readlink realpath diff cmp file tree dir")
"""Utilities that read the files in their operands, or information about them."""

_WITHOUT_FILES: Final = _names(
    "echo printf seq basename dirname date expr pwd whoami id groups uname nproc printenv arch hostid logname factor "
    "cal"
)
"""Utilities that read no file."""

_STATE_CHANGERS: Final = _names(
    "cp mv rm rmdir mkdir touch ln chmod chown chgrp install truncate unlink mkfifo mknod split csplit dd tee shred "
    "sync rename mktemp link"
)
_ENDLESS: Final = _names("yes sleep watch top")
_SCRIPT_OPTIONS: Final = frozenset({"-e", "-f", "--regexp", "--file", "--expression"})
_ACTIONS: Final = _names("-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls -quit")
_FOLLOWS: Final = _names("-f -F --follow --retry")
_WRITES: Final = re.compile(r"\b(system|close)\s*\(|>|\|\s*\"|(?:^|[;}/\dgip])\s*[we]\s+\S")
_QUOTED: Final = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\$`])*\"|\\.", re.DOTALL)
_STRUCTURE: Final = (
    ("a pipe", re.compile(r"\|")),
    ("a redirection", re.compile(r"[<>]")),
    ("a substitution or variable", re.compile(r"[$`]")),
    ("several commands", re.compile(r"[;&()\n]")),
    ("a quote that does not end", re.compile(r"['\"]")),
)


def read_simple_command(command: str, read: CommandReader) -> SimpleCommand:
    """Return a command's utility and the files in its operands. Raises LeftOutError if the command is not simple."""
    bare = _QUOTED.sub("x", command)
    for reason, pattern in _STRUCTURE:
        if pattern.search(bare):
            raise LeftOutError(reason)
    utilities = read(command)
    if utilities is None or len(utilities) != 1 or not utilities[0].name:
        raise LeftOutError("not read as one command")
    utility = utilities[0]
    if utility.name in _STATE_CHANGERS or _changes(utility):
        raise LeftOutError("changes state")
    if utility.nested:
        raise LeftOutError("runs another command")
    if len(utility.arguments) > MOST_OPERANDS:
        raise LeftOutError(f"more than {MOST_OPERANDS} operands")
    if utility.name in _ENDLESS or (utility.name == "tail" and _flags(utility) & _FOLLOWS):
        raise LeftOutError("does not end")
    return SimpleCommand(utility, _files(utility))


def _flags(utility: UtilityCall) -> frozenset[str]:
    return frozenset(name for name, _ in utility.flags)


def _changes(utility: UtilityCall) -> bool:
    flags = _flags(utility)
    script = utility.arguments[0] if utility.arguments else ""
    return (
        (utility.name == "find" and bool(flags & _ACTIONS))
        or (utility.name == "sed" and (bool(flags & {"-i", "--in-place"}) or bool(_WRITES.search(script))))
        or (utility.name in ("awk", "gawk", "mawk") and bool(_WRITES.search(script)))
        or (utility.name == "sort" and bool(flags & {"-o", "--output"}))
        or (utility.name == "uniq" and len(utility.arguments) > 1)
        or (utility.name == "date" and bool(flags & {"-s", "--set"}))
    )


def _files(utility: UtilityCall) -> tuple[str, ...]:
    """Return those operands that name files. Raises LeftOutError if the utility is unknown or reads from stdin."""
    operands: Sequence[str] = utility.arguments
    if utility.name in _WITHOUT_FILES:
        return ()
    if utility.name in _INSPECTORS:
        return tuple(operands)
    if utility.name in _SCRIPTED and not _flags(utility) & _SCRIPT_OPTIONS:
        operands = operands[1:]
    elif utility.name not in _FILTERS | _SCRIPTED:
        raise LeftOutError("another utility")
    recursive = utility.name.endswith("grep") and _flags(utility) & {"-r", "-R", "--recursive"}
    if (not operands and not recursive) or "-" in operands:
        raise LeftOutError("reads standard input")
    return tuple(operands)
