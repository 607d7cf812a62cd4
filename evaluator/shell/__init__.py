"""Read the structure of shell commands: the utilities that a command calls, with flags, arguments and nested utilities.

    utilities_of("find . -name '*.c' | xargs wc -l")

The fast path reads plain commands without a parser. `bash_parser` reads all other commands by Bash's grammar, with
extended patterns. It reads every command that Bash accepts, within limits on the size and the nesting. A text that it
refuses is unreadable, and the result is None. The functions of this module raise no error for any text, because
commands are untrusted and "unreadable" is a normal result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from evaluator.shell import bash_calls, fast_path
from evaluator.shell.options import Options, option_table
from evaluator.shell.syntax import Call, UnreadableError, Word, refuse_long
from evaluator.shell.utilities import CallReader, Flag, Utility, utilities_of_calls

__all__ = [
    "Call",
    "Flag",
    "Options",
    "Utility",
    "Word",
    "calls_of",
    "option_table",
    "read_utilities",
    "utilities_of",
]

_LOOSE_END: Final = re.compile(r"(?<=\s)\\\s*\Z")
"""A lone backslash at the very end. It announces a next line that never comes."""


def calls_of(command: str) -> tuple[Call, ...] | None:
    """Return a command's calls of utilities in source order, or None if the command is unreadable."""
    try:
        return _read(command)
    except UnreadableError:
        return None


@lru_cache(maxsize=16_384)
def utilities_of(command: str | bytes) -> tuple[Utility, ...] | None:
    """Return the utilities that a command calls, in source order, each with its nested utilities.

    Return None if the command is unreadable, and an empty tuple for an empty command. Bytes that are not UTF-8 are
    replaced, because names of flags and utilities do not contain such bytes.
    """
    return read_utilities(command, option_table())


def read_utilities(command: str | bytes, table: Mapping[str, Options]) -> tuple[Utility, ...] | None:
    """Return the utilities of a command. Unlike `utilities_of`, use the caller's option table and no cache."""
    text = command.decode(errors="replace") if isinstance(command, bytes) else command
    try:
        return utilities_of_calls(_read(text), CallReader(_read, table))
    except (UnreadableError, RecursionError):
        return None


def _read(command: str) -> tuple[Call, ...]:
    refuse_long(command)
    command = _LOOSE_END.sub("", command)
    if not command.strip():
        return ()
    calls = fast_path.read_calls(command)
    return bash_calls.read_calls(command) if calls is None else calls
