"""How long a person takes for a task: measured, or estimated from how much there is to type.

A measured time stands in the task's `timing`; `bashboard study` collects such, and fits the estimate to them. The
estimate is a constant for reading and thinking and a cost for every token of the shortest reference, because who
knows a short way types that.
"""

from __future__ import annotations

import re
from typing import Final

from evaluator.records import Task, Timing

READING_S: Final = 7.0
TOKEN_S: Final = 0.6
"""Seconds of the estimate: 7 + 0.6 · tokens. `bashboard study fit` says how well that holds of measurements."""

_TOKEN: Final = re.compile(rb"[|&;<>()]+|(?:\\.|[^\s|&;<>()])+", re.DOTALL)


def count_tokens(command: bytes) -> int:
    r"""Tokens of a command, at least 0: runs of the shell's operator characters, and runs of any others between
    blanks.

    Quotes do not group, as the words of a quoted program are typed one by one too; a backslash makes the
    character after it an ordinary one. No command is refused.

    >>> count_tokens(b"find . -name '*.log' -type f | wc -l")
    9
    >>> count_tokens(b"awk '{ print $1 }' log")
    6
    >>> count_tokens(rb"find . \( -empty \) -exec rm {} \;")
    9
    """
    return len(_TOKEN.findall(command))


def reference_tokens(task: Task) -> int:
    """Tokens of the task's shortest reference, counted in tokens."""
    return min(map(count_tokens, task.references))


def human_time(task: Task) -> Timing:
    """How long a person takes: the task's own timing where it has one, else 7 s + 0.6 s · `reference_tokens`.

    A shortest reference of 9 tokens makes 7 + 0.6 · 9 = 12.4 s.
    """
    if task.timing is not None:
        return task.timing
    return Timing(human_s=round(READING_S + TOKEN_S * reference_tokens(task), 3), provenance="estimated")
