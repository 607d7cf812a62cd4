"""Compare text judges with human annotators. The annotators' assessments come from a CSV file in NL2Bash's format."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.judges import JUDGES, TextScorer, find_judge
from evaluator.judges.human_agreement import Assessed, agreements
from evaluator.progress import Progress
from evaluator.records import AnnotatorAgreement

_CONSENSUS_COLUMN: Final = "correct command"
_ANSWERS: Final[Mapping[str, bool | None]] = {"y": True, "n": False, "": None}


def compare_with_people(
    assessments: Path, references: tuple[Path, Path], progress: Progress, judges: Sequence[str] = ()
) -> list[AnnotatorAgreement]:
    """Measure how well text judges agree with human annotators. If `judges` is empty, measure all text judges.

    `assessments` is the annotators' CSV file. `references` are two files with the same number of lines: descriptions of
    tasks, and a correct command for each description. Raises UsageError if a file is missing or a named judge does not
    score texts. Raises FormatError with every invalid line.
    """
    selected = [judge for name in judges or JUDGES if isinstance(judge := find_judge(name), TextScorer)]
    unfit = [name for name in judges if name not in {judge.name for judge in selected}]
    if unfit:
        scorers = [name for name, judge in JUDGES.items() if isinstance(judge, TextScorer)]
        raise UsageError(f"{unfit[0]} does not score texts; these judges do: {', '.join(scorers)}")
    commands = _read_references(*references)
    assessed = _read_assessments(assessments, commands)
    progress.say(f"comparing {', '.join(judge.name for judge in selected)} with people on {len(assessed)} commands")
    return list(agreements(assessed, commands, selected))


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: expected a text file: {error}") from error


def _read_references(descriptions: Path, commands: Path) -> dict[str, list[str]]:
    left, right = ([line.strip() for line in _read_text(path).split("\n")] for path in (descriptions, commands))
    if len(left) != len(right):
        raise FormatError(
            [Problem(commands, 0, f"has {len(right)} lines: expected {len(left)}, as {descriptions} has")]
        )
    references: dict[str, list[str]] = {}
    for description, command in zip(left, right, strict=True):
        if description:
            references.setdefault(description, []).append(command)
    return references


def _read_assessments(path: Path, references: Mapping[str, Sequence[str]]) -> list[Assessed]:
    reader = csv.DictReader(io.StringIO(_read_text(path), newline=""))
    columns = list(reader.fieldnames or ())
    annotators = [name for name in columns if name.startswith(f"{_CONSENSUS_COLUMN} ")]
    missing = [name for name in ("description", "prediction", _CONSENSUS_COLUMN) if name not in columns]
    if missing:
        raise FormatError([Problem(path, 1, f"has no column {missing[0]!r}; it has: {', '.join(columns)}")])
    problems: list[Problem] = []
    rows: list[Assessed] = []
    for row in reader:
        faults = list(_faults(row, [_CONSENSUS_COLUMN, *annotators], references))
        problems += [Problem(path, reader.line_num, fault) for fault in faults]
        if not faults:
            answers = tuple(_ANSWERS[row[name] or ""] for name in annotators)
            rows.append(Assessed(row["description"].strip(), row["prediction"], row[_CONSENSUS_COLUMN] == "y", answers))
    if problems:
        raise FormatError(problems)
    return rows


def _faults(row: Mapping[str, str], columns: Sequence[str], references: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for name in columns:
        allowed = ("y", "n") if name == _CONSENSUS_COLUMN else tuple(_ANSWERS)
        if (row[name] or "") not in allowed:
            yield f"{name}: expected y or n, found {row[name]!r}"
    if row["description"].strip() not in references:
        yield f"description: no reference command for {row['description']!r:.100}"
