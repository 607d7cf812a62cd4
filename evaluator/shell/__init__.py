"""Commands as structure: which utilities a command calls, with which flags and arguments, nested how.

    utilities_of("find . -name '*.c' | xargs wc -l")

What is plain needs no parser (`plain`); bashlex reads what it can of the rest, tree-sitter what bashlex refuses; text
that neither reads is None. Whatever the text is, nothing here raises: commands are an attacker's, and unreadable is
an answer.
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
"""Both readers stumble over a lone backslash at the very end, which to bash announces a line that never comes."""


def calls_of(command: str) -> tuple[Call, ...] | None:
    """The calls of a command in the order they are written, or None where no reader can make sense of it."""
    try:
        return _read(command)
    except UnreadableError:
        return None


@lru_cache(maxsize=16_384)
def utilities_of(command: str | bytes) -> tuple[Utility, ...] | None:
    """The utilities a command calls, stage by stage, each with those nested in it; None where it is unreadable.

    Bytes that are not UTF-8 are replaced: no flag or utility has such a name. An empty command calls nothing.
    """
    return read_utilities(command, option_table())


def read_utilities(command: str | bytes, table: Mapping[str, Options]) -> tuple[Utility, ...] | None:
    """`utilities_of` by another option table, and not remembered."""
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
