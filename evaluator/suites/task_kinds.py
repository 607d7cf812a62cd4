"""Read the overrides of a suite's `instructions`: open tasks of a precise suite, and precise tasks of an open suite.

The overrides of a suite are in `fixtures/overrides/<suite>/kinds.jsonl`. Each line gives its reason.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import StringConstraints

from evaluator.errors import Problem
from evaluator.records import Identifier, Instructions, Record
from evaluator.records.record_lines import read_record_lines

FILE: Final = "kinds.jsonl"
"""The name of a suite's file of overrides of `instructions`."""


class TaskKind(Record):
    """One line of `kinds.jsonl`: the precision of one task's instruction, with the reason for the override."""

    format: Literal[1]
    task: Identifier
    instructions: Instructions
    because: Annotated[str, StringConstraints(min_length=8, max_length=500, strip_whitespace=True)]


def read_task_kinds(path: Path, tasks: Collection[str], problems: list[Problem]) -> dict[str, Instructions]:
    """Return the overrides in a file by task id, or an empty dictionary if there is no file.

    Append a problem for each line that is invalid, repeats a task, or names a task that is not in `tasks`.
    """
    kinds: dict[str, Instructions] = {}
    for number, kind in read_record_lines(path, TaskKind, problems) if path.is_file() else []:
        if kind.task not in tasks:
            problems.append(Problem(path, number, f"task: expected a task of the suite, found {kind.task!r}"))
        elif kind.task in kinds:
            problems.append(Problem(path, number, f"task {kind.task} stands twice: expected one line for a task"))
        kinds[kind.task] = kind.instructions
    return kinds
