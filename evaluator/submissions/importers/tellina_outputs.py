"""This module reads the judged outputs of Tellina and ST-CopyNet from a clone of NL2Bash.

For each instruction of NL2Bash's test set, people judged the best three commands of each system. A file has one row for
a command, and the rows of an instruction are in the system's order. Only instructions that the imported suite also asks
become answers. If the suite asks an instruction in several tasks, each of these tasks gets the same answers.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.records import MAX_CANDIDATES, Method
from evaluator.submissions.importers.imported_system import (
    AnswerImporter,
    AnswerSource,
    ImportedSystem,
    Publication,
    command_fault,
)
from evaluator.submissions.limits import SubmissionLimits

TELLINA: Final = Publication(
    name="tellina",
    suite="nl2bash",
    authors="Lin et al. 2018 (NL2Bash)",
    title="the judged outputs of NL2Bash",
    licence="MIT",
    link="https://github.com/TellinaTool/nl2bash",
)

_SYSTEMS: Final[Mapping[str, tuple[str, str]]] = {
    "tellina": ("Tellina", "manual.evaluations.test.tellina.csv"),
    "st-copynet": ("ST-CopyNet", "manual.evaluations.test.stc.csv"),
}
_COLUMNS: Final = ("description", "prediction")


def read_outputs(source: AnswerSource) -> list[ImportedSystem]:
    """Return both systems with their judged commands, the best first."""
    if source.strategies or source.turn != 1:
        raise UsageError("tellina has neither strategies nor turns: expected no --strategy and no --turn")
    tasks = defaultdict(list)
    for task in source.tasks:
        tasks[_normalized(task.nl)].append(task.id)
    return [_system(name, source, tasks) for name in _SYSTEMS]


def _system(name: str, source: AnswerSource, tasks: Mapping[str, list[str]]) -> ImportedSystem:
    title, file = _SYSTEMS[name]
    found = sorted(source.clone.rglob(file))
    if not found:
        raise UsageError(f"{source.clone}: expected a clone of NL2Bash with a file {file}, found none")
    answers = {
        task: commands
        for instruction, commands in _commands(found[0], source.limits).items()
        for task in tasks.get(instruction, ())
    }
    if not answers:
        raise UsageError(f"{found[0]}: the suite asks none of its instructions; import both from one clone")
    description = "The three commands that people judged, for each instruction of the test set that the suite asks."
    return ImportedSystem(name, title, Method.OTHER, description, answers, open_weights=True, models=(title,))


def _commands(path: Path, limits: SubmissionLimits) -> dict[str, list[str]]:
    """Return the commands of each instruction in a file. Raises FormatError with each invalid row."""
    commands: dict[str, list[str]] = defaultdict(list)
    problems: list[Problem] = []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            if missing := [column for column in _COLUMNS if column not in (rows.fieldnames or ())]:
                raise FormatError([Problem(path, 1, f"expected a column {missing[0]!r}, found {rows.fieldnames}")])
            for row in rows:
                if fault := _row_fault(row, commands, limits):
                    problems.append(Problem(path, rows.line_num, fault))
                else:
                    commands[_normalized(row["description"])].append(row["prediction"])
            line = rows.line_num
    except (csv.Error, UnicodeDecodeError) as error:
        raise FormatError([Problem(path, 0, f"expected a table of comma-separated values: {error}")]) from error
    if not commands and not problems:
        problems.append(Problem(path, line, "expected a row for each judged command, found none"))
    if problems:
        raise FormatError(problems)
    return commands


def _row_fault(
    row: Mapping[str, str | None], commands: Mapping[str, list[str]], limits: SubmissionLimits
) -> str | None:
    instruction, command = row["description"], row["prediction"]
    if not instruction or command is None:
        return "expected a row with a description and a prediction; the row ends early"
    if len(commands.get(_normalized(instruction), ())) == MAX_CANDIDATES:
        return f"expected at most {MAX_CANDIDATES} commands for one description"
    return command_fault(command, limits)


def _normalized(instruction: str) -> str:
    return " ".join(instruction.split())


TELLINA_OUTPUTS: Final = AnswerImporter(TELLINA, read_outputs)
