"""Parse commands with bashlex, as the NLC2CMD reference program of 2020 did.

`nlc2cmd/reference_2020.py` and `reconstruction.py` read these trees. `bash_parser` reads commands for everything else.
bashlex is recursive and slow (0.3 ms for a usual command, seconds for 100 kB). So this module refuses commands above a
maximum length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from evaluator.shell.syntax import UnreadableError

MAY_HAVE_NO_END: Final = "bashlex: an expansion that may have no end"
"""The reason for not reading a command on which bashlex may hang. A harmless quoted text may look like one."""

_UNENDING: Final = re.compile(r"\$\{(?:[^}'$]|\$(?!\{))*+(?:'|\Z)")
"""A `${` without a `}` in the same word, for example between single quotes. bashlex looks for the `}` there too. If
there is none, it starts the word again, forever. The pattern begins at the last such `${`, and tries each only once."""

MAX_CHARACTERS: Final = 4096
"""Longer commands are refused, because bashlex's time grows with the square of a pipeline's length."""


def parse_trees(command: str) -> Sequence[Any]:
    """Return bashlex's syntax trees of a command. Callers must not modify these trees.

    Raise UnreadableError if bashlex cannot read the command.
    """
    trees = cached_trees(command)
    if isinstance(trees, str):
        raise UnreadableError(trees)
    return trees


@lru_cache(maxsize=64)
def cached_trees(command: str) -> Sequence[Any] | str:
    """Return bashlex's syntax trees of a command, or the reason why bashlex cannot read the command.

    Results are cached, because a command is often read twice.
    """
    if len(command) > MAX_CHARACTERS:
        return f"longer than {MAX_CHARACTERS} characters"
    if _UNENDING.search(command):
        return MAY_HAVE_NO_END
    import bashlex  # Importing builds its tables (0.1 s), so import only when a command is read.

    try:
        trees: Sequence[Any] = bashlex.parse(command)
    # On unexpected input, bashlex raises assertion, attribute, index and type errors and RecursionError besides its
    # own exceptions. All of them mean that the command is unreadable.
    except Exception as error:
        return f"bashlex: {error}"
    return trees
