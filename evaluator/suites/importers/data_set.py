"""This module reads NL2SH-ALFA's published data set: a table with the columns `nl`, `bash` and `bash2`.

The table has the tasks of all five file systems in their order, but not the scripts that create the file systems. So an
import from the table takes the files of the declared source, after a check that both have the same tasks.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evaluator.errors import FormatError, Problem, UsageError
from evaluator.json_lines import numbered_lines, parse_line
from evaluator.suites.importers.source_files import SourceFile

DATA_SET_SUITE: Final = "nl2sh-alfa"
ENDINGS: Final = frozenset({".json", ".jsonl", ".csv", ".parquet"})
COLUMNS: Final = ("nl", "bash", "bash2")
LISTS_OF_TASKS: Final = re.compile(r"(?:^|/)(nl2bash_fs_\d\.json)\Z")
_FIELDS: Final = dict(zip(COLUMNS, ("query", "gold", "gold2"), strict=True))
"""The columns of the table, with the fields of the lists of tasks that they equal."""

_MOST_BYTES: Final = 64 << 20
_MOST_PROBLEMS: Final = 10

DataRow = tuple[str, ...]
"""The texts of one task, in the order of `COLUMNS`."""


def read_data_set(path: Path) -> list[DataRow]:
    """Return the rows of a data set in JSON, JSON lines, CSV or Parquet.

    Raises UsageError if the file is too large, and FormatError if it is not readable or lacks a column.
    """
    if path.stat().st_size > _MOST_BYTES:
        raise UsageError(f"{path} has {path.stat().st_size:,} bytes, expected at most {_MOST_BYTES:,}")
    try:
        records = _records(path)
    except Exception as error:
        if isinstance(error, OSError):
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
        message = f"does not read as {path.suffix[1:].upper()}: {str(error).splitlines()[0][:200]}"
        raise FormatError([Problem(path, 0, message)]) from error
    problems = [
        Problem(path, 0, f"row {number}: expected the texts {', '.join(COLUMNS)}, found {_found(record)}")
        for number, record in enumerate(records, 1)
        if not isinstance(record, Mapping) or not all(isinstance(record.get(name), str) for name in COLUMNS)
    ]
    if problems or not records:
        no_rows = Problem(path, 0, "expected the rows of a data set, found none")
        raise FormatError(problems[:_MOST_PROBLEMS] or [no_rows])
    return [tuple(record[name].strip() for name in COLUMNS) for record in records]


def _records(path: Path) -> list[Any]:
    data = path.read_bytes()
    if path.suffix == ".parquet":
        import polars as pl  # a slow import, which other formats do not need

        return pl.read_parquet(io.BytesIO(data)).to_dicts()
    text = data.decode("utf-8-sig")
    if path.suffix == ".csv":
        return list(csv.DictReader(io.StringIO(text, newline="")))
    if path.suffix == ".jsonl" or not text.lstrip().startswith("["):
        return [parse_line(line) for _, line in numbered_lines(data) if line.strip()]
    return list(json.loads(text))


def _found(record: object) -> str:
    return ", ".join(map(str, record)) if isinstance(record, Mapping) else type(record).__name__


def check_same_tasks(path: Path, rows: Sequence[DataRow], files: Mapping[str, SourceFile]) -> None:
    """Check that a data set has the tasks of the lists `nl2bash_fs_N.json` in `files`, in their order.

    Raises FormatError with the first rows that differ.
    """
    expected = list(_listed_rows(files))
    problems = [] if len(rows) == len(expected) else [f"expected {len(expected)} rows, found {len(rows)}"]
    for number, (found, wanted) in enumerate(zip(rows, expected, strict=False), 1):
        names = [name for name, one, other in zip(COLUMNS, found, wanted, strict=True) if one != other]
        if names:
            problems.append(f"row {number}: another text in {', '.join(names)} than the declared source has")
    if problems:
        raise FormatError([Problem(path, 0, problem) for problem in problems[:_MOST_PROBLEMS]])


def _listed_rows(files: Mapping[str, SourceFile]) -> Iterable[DataRow]:
    for name in sorted(name for name in files if LISTS_OF_TASKS.search(name)):
        for entry in json.loads(files[name].data):
            yield tuple(str(entry.get(field, "")).strip() for field in _FIELDS.values())
