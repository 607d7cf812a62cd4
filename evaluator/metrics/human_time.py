"""The time that a person takes for a task: measured, or estimated from the length of the command.

A measured time is in the task's `timing`. `bashboard study` collects such times and fits the estimate to them. The
estimate is a constant for reading and thinking, plus a cost for every token of the shortest reference. The shortest
reference counts, because a person who knows a short command types the short one.
"""

from __future__ import annotations

import re
from typing import Final

from evaluator.records import Task, Timing

READING_S: Final = 7.0
TOKEN_S: Final = 0.6
"""Seconds of the estimate: 7 + 0.6 · tokens. `bashboard study fit` measures how well this matches measured times."""

_TOKEN: Final = re.compile(rb"[|&;<>()]+|(?:\\.|[^\s|&;<>()])+", re.DOTALL)


def count_tokens(command: bytes) -> int:
    r"""Count the tokens of a command.

    Blanks separate tokens. A run of the shell's operator characters is a token, and so is a run of other characters.
    The same applies inside quotes, so a quoted program can have several tokens. A backslash makes the next character an
    ordinary character. The function accepts every command.

    >>> count_tokens(b"find . -name '*.log' -type f | wc -l")
    9
    >>> count_tokens(b"awk '{ print $1 }' log")
    6
    >>> count_tokens(rb"find . \( -empty \) -exec rm {} \;")
    9
    """
    return len(_TOKEN.findall(command))


def reference_tokens(task: Task) -> int:
    """Return the smallest number of tokens among the task's references."""
    return min(map(count_tokens, task.references))


def human_time(task: Task) -> Timing:
    """Return a person's time: the timing in the task or, without a timing, 7 s + 0.6 s · `reference_tokens`.

    Example: a shortest reference of 9 tokens gives 7 + 0.6 · 9 = 12.4 s.
    """
    if task.timing is not None:
        return task.timing
    return Timing(human_s=round(READING_S + TOKEN_S * reference_tokens(task), 3), provenance="estimated")
