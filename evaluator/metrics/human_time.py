"""The time that a person takes for a task: measured, or estimated from the lengths of the instruction and the command.

A measured time is in the task's `timing`. `bashboard study` collects such times. Until a study has measured a suite's
tasks, all times are estimates, and no person was timed. The estimate is a line in the task's size:

    seconds = constant_s + size_s · size        size = tokens of the shortest reference + words of the instruction / 12

The default is 7 s + 3 s · size. It takes 3 s for each token of the command, which a person thinks of, types and
checks, and 0.25 s for each word of the instruction (238 words a minute, Brysbaert 2019, "How many words do we read per
minute?", Journal of Memory and Language 109, 104047). The shortest reference counts, because a person who knows a short
command types the short one. `bashboard study fit --write` replaces the line of a suite when enough tasks are measured.
"""

from __future__ import annotations

import re
from typing import Final

from evaluator.records import Task, Timing
from evaluator.records.suites import TimeLine

WORDS_PER_TOKEN: Final = 12
"""The number of words that a person reads in the time for one token of a command."""

ASSUMED: Final = TimeLine()
"""The line of a suite without measured times."""

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


def count_words(task: Task) -> int:
    """Return the number of words of the task's instruction."""
    return len(task.nl.split())


def task_size(task: Task) -> float:
    """Return the size of a task, which the estimate of a person's time depends on."""
    return round(reference_tokens(task) + count_words(task) / WORDS_PER_TOKEN, 3)


def human_time(task: Task, line: TimeLine = ASSUMED) -> Timing:
    """Return a person's time: the timing in the task or, without a timing, the estimate of the suite's line.

    Example: 12 words and a shortest reference of 9 tokens have the size 10. The default line gives 7 + 3 · 10 = 37 s.
    """
    if task.timing is not None:
        return task.timing
    return Timing(human_s=round(line.constant_s + line.size_s * task_size(task), 3), provenance="estimated")
