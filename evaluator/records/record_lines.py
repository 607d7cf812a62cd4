"""Read files with one record on each line. All invalid lines of a file are reported together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from evaluator.errors import Problem, UsageError
from evaluator.json_lines import LineProblems, read_json_lines
from evaluator.records.record import Record, read_format

LineRecord = TypeVar("LineRecord", bound=Record)


def read_record_lines(
    path: Path,
    record: type[LineRecord],
    problems: list[Problem],
    check: Callable[[LineRecord], object] | None = None,
    *,
    data: bytes | None = None,
    expected: str = "",
) -> list[tuple[int, LineRecord]]:
    """Return the valid lines of a file with their numbers, and append a problem to `problems` for each other line.

    `check` may raise ValueError or UsageError to refuse a line. `expected` names the content of a line for messages.
    `data` is the content of the file if it is known. Raises UsageError if the file cannot be read.
    """
    if data is None:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    records: list[tuple[int, LineRecord]] = []
    found = LineProblems(path)
    for number, _, value in read_json_lines(data, found):
        try:
            read_format(value, path.name, record.newest_format)
            line = record.model_validate(value)
            if check is not None:
                check(line)
            records.append((number, line))
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_context=False):
                value = f", found {detail['input']!r:.100}" if isinstance(detail["input"], str | int | float) else ""
                found.add(number, f"{'.'.join(map(str, detail['loc'])) or 'the line'}: {detail['msg']}{value}")
        except (ValueError, UsageError) as error:
            found.add(number, f"expected {expected}: {error}" if expected else str(error))
    problems += found.all()
    return records
