"""Retire a reference: from then on, no judge uses it, and the suite has a new minor version."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from evaluator.errors import UsageError
from evaluator.files import write_whole
from evaluator.pipeline.project import Project
from evaluator.records import RetiredReference, command_digest, json_lines
from evaluator.suites.load import load_written_suite
from evaluator.suites.questioned_references import (
    RETIRED,
    Numbered,
    instruction_digest,
    next_minor,
    overrides_path,
    read_retirements,
    without_retired,
)


class Retirement(NamedTuple):
    """A new retirement: the file with its line, and the retired command."""

    path: Path
    line: RetiredReference
    command: bytes


def retire_reference(project: Project, suite_name: str, task_id: str, number: int, because: str) -> Retirement:
    """Record the retirement of a reference, by its number in `suite show`.

    Raises UsageError if there is no such reference, if too few references would remain, or if the reason is too short
    or too long.
    """
    suite = project.suite(suite_name)
    task = suite.task(task_id)
    if not 1 <= number <= len(task.references):
        hint = f"expected 1 to {len(task.references)}; see: bashboard suite show {suite_name} {task_id}"
        raise UsageError(f"{task_id} has no reference {number}: {hint}")
    command = task.references[number - 1]
    try:
        line = RetiredReference(
            format=1,
            task=task_id,
            instruction_digest=instruction_digest(task),
            command_digest=command_digest(command),
            version=next_minor(suite.manifest.version),
            because=because,
        )
    except ValidationError as error:
        raise UsageError(f"--because {because!r}: expected 8 to 500 characters that say why") from error
    path = overrides_path(suite.folder, RETIRED)
    lines: list[RetiredReference] = [*(each.line for each in read_retirements(path)), line]
    written = load_written_suite(suite.folder).task(task_id)
    try:
        without_retired(written, [Numbered(0, each) for each in lines], external=suite.manifest.foreign)
    except ValueError as error:
        raise UsageError(str(error)) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted(lines, key=lambda each: (each.task, each.command_digest))
    write_whole(path, json_lines(ordered).encode())
    return Retirement(path, line, command)
