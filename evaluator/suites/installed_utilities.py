"""Read which commands the base image of a suite has: programs, builtins and reserved words of bash.

The list is the file `utilities.txt` of a suite's folder: the output of `compgen -c | LC_ALL=C sort -u` in the base. An
engine test compares the list of the suite core with the base. A suite may lack the file.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from evaluator.errors import FormatError, Problem
from evaluator.suites.load import Suite

FILE: Final = "utilities.txt"
_NAME: Final = re.compile(r"[!-~]{1,255}")
_NEVER_FIRST: Final = frozenset({"]]", "do", "done", "elif", "else", "esac", "fi", "in", "then", "}"})
"""Reserved words with which no command begins. A reply that begins with `in` or `then` is prose."""


def installed_utilities(suite: Suite) -> frozenset[str] | None:
    """Return the names with which a command can begin in the base of a suite, or None if the suite has no list.

    Raises FormatError with all invalid lines.
    """
    path = suite.folder / FILE
    if not path.is_file():
        return None
    names = path.read_text("utf-8", errors="replace").removesuffix("\n").split("\n")
    problems = [
        Problem(path, number, f"expected the name of a command without blanks, found {name!r:.100}")
        for number, name in enumerate(names, 1)
        if not _NAME.fullmatch(name)
    ]
    problems += [
        Problem(path, number, f"expected sorted names without repetition: {name!r:.100} is not after {before!r:.100}")
        for number, (before, name) in enumerate(pairwise(names), 2)
        if name <= before and _NAME.fullmatch(name)
    ]
    if problems:
        raise FormatError(problems)
    return frozenset(names) - _NEVER_FIRST
