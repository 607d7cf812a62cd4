"""Read the structure of shell commands: the utilities that a command calls, with flags, arguments and nested utilities.

    utilities_of("find . -name '*.c' | xargs wc -l")

Three readers are tried in this order. The fast path reads plain commands without a parser. bashlex, a Python port of
bash's grammar, reads most other commands. If bashlex refuses a command, the parser tree-sitter reads it. If tree-sitter
also refuses the command, the result is None. The functions of this module raise no error for any text, because commands
are untrusted and "unreadable" is a normal result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from evaluator.shell import bashlex_reader, fast_path, treesitter_reader
from evaluator.shell.options import Options, option_table
from evaluator.shell.syntax import Call, UnreadableError, Word, refuse_hostile
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
"""A lone backslash at the very end. It announces a next line that never comes, and both parsers fail on it."""


def calls_of(command: str) -> tuple[Call, ...] | None:
    """Return a command's calls of utilities in source order, or None if no reader can parse the command."""
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
    refuse_hostile(command)
    command = _LOOSE_END.sub("", command)
    if not command.strip():
        return ()
    calls = fast_path.read_calls(command)
    if calls is not None:
        return calls
    try:
        return bashlex_reader.read_calls(command)
    except UnreadableError:
        return treesitter_reader.read_calls(command)
