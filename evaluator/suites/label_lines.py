"""Read files of labels and overrides: one JSON object a line. All invalid lines of a file are reported together."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from evaluator.errors import Problem, UsageError
from evaluator.records import Record, read_format

LabelType = TypeVar("LabelType", bound=Record)


def read_label_lines(
    path: Path, record: type[LabelType], problems: list[Problem], check: Callable[[LabelType], object] | None = None
) -> list[tuple[int, LabelType]]:
    """Return the valid lines of a file with their line numbers, and append a problem to `problems` for each other line.

    `check` may raise ValueError or UsageError to refuse a line. Raises UsageError if the file cannot be read.
    """
    labels = []
    for number, line in enumerate(_lines(path), 1):
        try:
            value = json.loads(line)
            read_format(value, path.name)
            label = record.model_validate(value)
            if check is not None:
                check(label)
            labels.append((number, label))
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False)
            problems += [Problem(path, number, f"{'.'.join(map(str, one['loc']))}: {one['msg']}") for one in details]
        except (ValueError, UsageError) as error:
            problems.append(Problem(path, number, str(error)))
    return labels


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
