"""Whether two texts may be two presentations of one answer: how many words they share.

Asked only where one reference is all there is, because then nothing tells which of its fields matter, and only
to keep from calling a failure what may be another layout. What shares its words is never passed for it. Words of
the command itself are left out: a list of processes shows them, and so does every path below a folder it names.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_WORD: Final = re.compile(r"[^\W\d_]+|\d+")

LEAST_CONTAINED: Final = 0.6
"""Of the smaller text's different words, the part that the other must have."""

LEAST_ALIKE: Final = 0.15
"""Of all different words, the part that both must have, so that one word out of a long listing is not enough.

Both numbers are from the even-numbered tasks of NL2SH-ALFA. Of the outputs there that differ beyond layout,
31 of 33 of equivalent commands reach them, and 2 of 72 of commands that were taken from another task.
"""


class Printed(NamedTuple):
    """What a command printed, and the command."""

    text: bytes
    command: bytes


def may_say_the_same(left: Printed, right: Printed) -> bool:
    """True where two texts share so many words that only their layout may differ."""
    ours, theirs = (_words(each.text) - _words(each.command) for each in (left, right))
    if not ours or not theirs:
        return False
    shared = len(ours & theirs)
    return shared >= LEAST_CONTAINED * min(len(ours), len(theirs)) and shared >= LEAST_ALIKE * len(ours | theirs)


def _words(text: bytes) -> set[str]:
    return set(_WORD.findall(text.decode(errors="replace").casefold()))
