"""Compare the calls of utilities in a command with those in references: their names, their flags, their arguments.

The order of the calls does not count, and neither do pipes, redirections and assignments. The comparison uses the
syntax trees of the readers and the table of options: the value of a flag is an argument (`head -n 5`), and a nested
call (`find -exec`, `xargs`, `$(…)`) is a call like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from evaluator.records import CallAgreement
from evaluator.shell import Utility, utilities_of

LONGEST: Final = 6
"""The most calls of a reference that is compared. A longer one is a script, and two scripts for one task share little.

Of the 12,607 commands of NL2Bash, which are all of one line, 98.8 % have at most six calls.
"""

Key = tuple[object, ...]
"""What two calls must have in common to be equal."""


def call_agreement(command: bytes, references: Sequence[bytes]) -> CallAgreement:
    """Return how far the calls of a command agree with those of the most similar reference.

    References that no reader can parse, and references with more than `LONGEST` calls, are left out.

    >>> [call_agreement(command, [b"sort -r a | head -n 5"]).value for command in (b"tac a", b"sort a | head -n 5")]
    ['none', 'utilities']
    >>> [call_agreement(command, [b"sort -r a | head -n 5"]).value for command in (b"head -n 9 a | sort -r", b"ls ${")]
    ['flags', 'unreadable']
    """
    own = _calls(command)
    if own is None:
        return CallAgreement.UNREADABLE
    compared = [calls for reference in references if (calls := _calls(reference)) is not None and len(calls) <= LONGEST]
    if not compared:
        return CallAgreement.NOT_COMPARED
    found = CallAgreement.NONE
    for level, key in _LEVELS.items():
        wanted = Counter(map(key, own))
        compared = [calls for calls in compared if Counter(map(key, calls)) == wanted]
        if not compared:
            break
        found = level
    return found


def _calls(command: bytes) -> list[Utility] | None:
    """Return all calls of a command, with those inside other calls. Return None if no reader can parse the command."""
    utilities = utilities_of(command)
    return None if utilities is None else list(_walk(utilities))


def _walk(utilities: Sequence[Utility]) -> Iterator[Utility]:
    for utility in utilities:
        yield from utility.walk()


def _name(utility: Utility) -> Key:
    return (utility.name,)


def _flags(utility: Utility) -> Key:
    return utility.name, *sorted(flag.name for flag in utility.flags)


def _arguments(utility: Utility) -> Key:
    return utility.name, *sorted(utility.flags), utility.arguments


_LEVELS: Final = {
    CallAgreement.UTILITIES: _name,
    CallAgreement.FLAGS: _flags,
    CallAgreement.ARGUMENTS: _arguments,
}
"""The levels of agreement, from the least. Each one compares more of a call than the level before."""
