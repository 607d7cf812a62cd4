"""How findings speak: one short sentence in which nothing a command printed can act.

Reasons end on terminals, in pull-request comments and on pages. Whatever came from a command is therefore
shown as a Python literal: control characters, ANSI sequences and bidirectional marks stand as escapes.
"""

from __future__ import annotations

from typing import Final

from evaluator.escaping import printable

REASON_LENGTH: Final = 200
"""Characters a reason may have; longer ones are cut visibly."""

SHOWN_LENGTH: Final = 60
"""Characters of one value that are shown inside a reason."""


def shown(value: bytes | str) -> str:
    """The value between quotes, escaped and cut in the middle where it is long."""
    text = value.decode(errors="backslashreplace") if isinstance(value, bytes) else value
    if len(text) > SHOWN_LENGTH:
        text = f"{text[: SHOWN_LENGTH - 20]}…{text[-19:]}"
    return printable(repr(text))


def reason(sentence: str) -> str:
    """The sentence, cut visibly where it is too long for a table cell."""
    return sentence if len(sentence) <= REASON_LENGTH else f"{sentence[: REASON_LENGTH - 1]}…"
