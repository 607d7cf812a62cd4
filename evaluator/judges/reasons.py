"""Write the reason of a verdict: one short sentence, in which text from a command can do no harm.

Readers see reasons on terminals, in comments on pull requests and on pages. Every value from a command is therefore
written as a Python literal: control characters, ANSI sequences and bidirectional marks become escapes.
"""

from __future__ import annotations

from typing import Final

from evaluator.wording import EXCERPT_LENGTH, excerpt

REASON_LENGTH: Final = 200
"""Length of a reason, in characters. A longer reason is cut visibly."""


def shown(value: bytes | str, length: int = EXCERPT_LENGTH) -> str:
    """Return a value from a command for a reason: quoted and with escapes. A long value loses its middle."""
    return excerpt(value.decode(errors="backslashreplace") if isinstance(value, bytes) else value, length)


def reason(sentence: str) -> str:
    """Return a sentence as the reason of a verdict. Truncate it visibly if it is too long for a table cell."""
    return sentence if len(sentence) <= REASON_LENGTH else f"{sentence[: REASON_LENGTH - 1]}…"
