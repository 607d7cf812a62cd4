"""Read the number of executions from the progress that a command prints for a log."""

from __future__ import annotations

import re
from typing import Final

_ENDED: Final = re.compile(r"^executing: ([\d,]+) in [\d.]+ s(?: \(and ([\d,]+) more)?", re.MULTILINE)


def reported_executions(stderr: str) -> int:
    """Return the number of executions at the end of all stages, including those that were repeated."""
    numbers = (number for found in _ENDED.findall(stderr) for number in found if number)
    return sum(int(number.replace(",", "")) for number in numbers)
