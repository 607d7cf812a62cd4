"""Judges by name, so that a board can be graded again by any of them and they can be compared."""

from __future__ import annotations

from typing import Final

from evaluator.errors import UsageError
from evaluator.judges.case import Judge

JUDGES: Final[dict[str, Judge]] = {}
"""Every judge by its name, in the order of registration."""


def register(judge: Judge) -> Judge:
    """Add a judge under its own name and return it. Raises ValueError where the name is taken."""
    if judge.name in JUDGES:
        raise ValueError(f"a judge named {judge.name!r} is registered already")
    JUDGES[judge.name] = judge
    return judge


def find_judge(name: str) -> Judge:
    """The judge of that name. Raises UsageError, which lists the names there are."""
    if name not in JUDGES:
        raise UsageError(f"no judge is named {name!r}; there are: {', '.join(JUDGES)}")
    return JUDGES[name]
