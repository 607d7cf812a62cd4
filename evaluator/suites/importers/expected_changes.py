"""Read the file changes that an external suite's verifiers must accept, and add them to the verifiers.

A verifier reads the changes of a job in `/run/verify/changes`, and may refuse unexpected changes. On our base, the
programs of a task itself may make changes that the suite's publisher does not expect. The file `expected_changes.jsonl`
in `fixtures/overrides/<suite>/` lists these changes with reasons. It contains no text of the suite.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from evaluator.errors import FormatError, Problem
from evaluator.records import Identifier, Record
from evaluator.records.record_lines import read_record_lines
from evaluator.suites.importers.draft import Draft

FILE: Final = "expected_changes.jsonl"
"""The name of a suite's file of expected changes."""


class ExpectedChanges(Record):
    """One line of `expected_changes.jsonl`: changes that the verifiers of some tasks, or of all tasks, do not see.

    A change is a line of `/run/verify/changes`, such as `A /srv/out`. The characters `*` and `[...]` have the meaning
    that they have in the shell. If `tasks` is empty, the changes are expected in every task.
    """

    format: Literal[1]
    tasks: tuple[Identifier, ...] = ()
    changes: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=r"^([ACDM]|\[[ACDM]+\]) /\S*$")], ...], Field(min_length=1)
    ]
    because: Annotated[str, StringConstraints(min_length=8, max_length=500, strip_whitespace=True)]


def with_expected_changes(draft: Draft, overrides: Path) -> Draft:
    """Return a draft whose verifiers do not see expected changes. `overrides` is the folder of the suite's overrides.

    Raises FormatError with every invalid line, and with every line that names an unknown task.
    """
    path, problems = overrides / FILE, list[Problem]()
    lines = read_record_lines(path, ExpectedChanges, problems) if path.is_file() else []
    known = {task.id for task in draft.tasks}
    for number, line in lines:
        unknown = sorted(set(line.tasks) - known)
        if unknown:
            problems.append(Problem(path, number, f"tasks: expected tasks of the suite, found {', '.join(unknown)}"))
    if problems:
        raise FormatError(problems)
    tasks = []
    for task in draft.tasks:
        changes = [text for _, line in lines if not line.tasks or task.id in line.tasks for text in line.changes]
        verify = task.verify and (filter_script(changes) + task.verify)
        tasks.append(task.model_copy(update={"verify": verify}) if changes else task)
    return replace(draft, tasks=tasks)


def filter_script(changes: Sequence[str]) -> bytes:
    """Return the beginning of a verifier: shell code that removes the expected changes from `/run/verify/changes`."""
    patterns = "|".join(re.sub(r"[^\w/*.\[\]-]", lambda match: f"\\{match[0]}", text) for text in changes)
    return (
        f"while IFS= read -r change; do case $change in {patterns}) ;; *) printf '%s\\n' \"$change\" ;; esac; done"
        " < /run/verify/changes > /run/verify/unexpected\nmv /run/verify/unexpected /run/verify/changes\n"
    ).encode()
