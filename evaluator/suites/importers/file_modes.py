"""This module returns a file mode that satisfies the predicate `-perm` of `find`."""

from __future__ import annotations

import re
from typing import Final

_OCTAL: Final = re.compile(r"[-/+]?([0-7]{1,4})")
_CLAUSE: Final = re.compile(r"([ugoa]*)([-+=])([rwxXst]*)")
_BITS: Final = {"r": 0o4, "w": 0o2, "x": 0o1, "X": 0o1}
_SHIFTS: Final = {"u": 6, "g": 3, "o": 0}
_SPECIAL: Final = {"u": 0o4000, "g": 0o2000, "o": 0}
_ALL: Final = "ugo"


def example_mode(value: str, earlier: int = 0) -> int:
    """Return a mode that satisfies `-perm VALUE`, with the bits of an earlier mode. Raises ValueError for other text.

    A mode after `-` or `/` gets no further bits, because a mode with exactly the named bits satisfies these too.
    """
    match = _OCTAL.fullmatch(value)
    if match is not None:
        return int(match[1], 8) | earlier
    mode = earlier
    for clause in value.lstrip("-/+" if not value.startswith("+") or value[1:2] in _ALL else "").split(","):
        found = _CLAUSE.fullmatch(clause)
        if found is None:
            raise ValueError(f"{value} is not a mode")
        if found[2] != "-":
            mode |= _clause_bits(found[1].replace("a", _ALL) or _ALL, found[3])
    return mode


def _clause_bits(classes: str, letters: str) -> int:
    bits = 0
    for letter in classes:
        for permission in letters:
            bits |= _BITS.get(permission, 0) << _SHIFTS[letter]
            bits |= _SPECIAL[letter] if permission == "s" else 0
    return bits | (0o1000 if "t" in letters else 0)
