"""The value that stands for content of an answer that was surely not meant."""

from __future__ import annotations

from typing import NamedTuple


class AnswerDoubt(NamedTuple):
    """Content of a command that was surely not meant.

    `kind` groups doubts for which one message is enough. `what` says what stands there and what bash does with it.
    `position` is the character in the command at which it begins.
    """

    kind: str
    what: str
    position: int
