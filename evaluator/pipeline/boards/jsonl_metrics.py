"""Metrics of commands' texts over lines of JSON, so that anybody can check them against another implementation.

A line of output belongs to a line of input. A line that is not what was expected is `null` in the output, so that
the order holds, and a problem with its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evaluator.errors import Problem
from evaluator.metrics.nlc2cmd import score_task
from evaluator.shell.nlc2cmd.score import reading_of, score_pair

Confidence: TypeAlias = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Lines: TypeAlias = Iterable[bytes]

Answer = TypeVar("Answer")
SHOWN: Final = 60
"""Characters of a wrong value that a problem shows."""

MAX_PROBLEMS: Final = 100
"""Problems that are told one by one; the rest is counted."""


class Aggregation(StrEnum):
    """How the scores of all pairs of a list become one: `evaluator.metrics.nlc2cmd.score_task` says how."""

    ORGANISERS = "organisers"
    PAPER = "paper"


class _Line(BaseModel):
    """Of a line, what we look at: it may have any other field."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class PairLine(_Line):
    """One prediction and one reference."""

    pred: str
    ref: str
    confidence: Confidence = 1.0


class ListLine(_Line):
    """A task's predictions and references; `confidences` is as long as `preds`, or all 1 where it is missing."""

    preds: list[str]
    refs: Annotated[list[str], Field(min_length=1)]
    confidences: list[Confidence] | None = None

    @model_validator(mode="after")
    def _check_lengths(self) -> ListLine:
        if self.confidences is not None and len(self.confidences) != len(self.preds):
            raise ValueError(f"expected as many confidences as preds, {len(self.preds)}, found {len(self.confidences)}")
        return self

    @property
    def weights(self) -> list[float]:
        """A confidence a prediction."""
        return [1.0] * len(self.preds) if self.confidences is None else self.confidences


class CommandLine(_Line):
    """One command."""

    cmd: str


class Problems:
    """What is wrong with lines of one file, in order; the first `MAX_PROBLEMS` are kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept: list[Problem] = []
        self.count = 0

    def add(self, line: int, message: str) -> None:
        """Note a problem."""
        self.count += 1
        if self.count <= MAX_PROBLEMS:
            self.kept.append(Problem(self.path, line, message))

    def all(self) -> list[Problem]:
        """Those kept, and one that counts the rest."""
        rest = self.count - len(self.kept)
        return [*self.kept, *([Problem(self.path, 0, f"{rest} more lines of this kind")] if rest else [])]


def score_jsonl(
    lines: Lines, problems: Problems, *, strict_2020: bool = False, aggregation: Aggregation = Aggregation.ORGANISERS
) -> Iterator[dict[str, float] | None]:
    """The NLC2CMD score of every line, a pair or a list: `score`, and of a list by both aggregations beside it."""

    def score(value: Any) -> dict[str, float]:
        if not isinstance(value, dict) or "preds" not in value:
            pair = PairLine.model_validate(value)
            return {"score": pair.confidence * score_pair(pair.pred, pair.ref, strict_2020=strict_2020)}
        task = ListLine.model_validate(value)
        both = score_task(task.preds, task.weights, task.refs, strict_2020=strict_2020)._asdict()
        return {"score": both[aggregation], **both}

    return _answers(lines, problems, score)


def parsed_commands(
    lines: Lines, problems: Problems, *, strict_2020: bool = False
) -> Iterator[dict[str, list[tuple[str, list[str]]] | None] | None]:
    """Every line's utilities, each with the flags that the metric sees, in order and as often as they are given."""

    def parse(value: Any) -> dict[str, list[tuple[str, list[str]]] | None]:
        reading = reading_of(CommandLine.model_validate(value).cmd)
        if reading.called is None or (strict_2020 and reading.refused is not None):
            return {"utils": None}
        return {"utils": [(name, list(flags)) for name, flags in reading.called]}

    return _answers(lines, problems, parse)


def read_pairs(lines: Lines, problems: Problems) -> Iterator[tuple[str, str]]:
    """Every prediction with every reference of its line."""

    def pairs(value: Any) -> list[tuple[str, str]]:
        if not isinstance(value, dict) or "preds" not in value:
            pair = PairLine.model_validate(value)
            return [(pair.pred, pair.ref)]
        task = ListLine.model_validate(value)
        return [(pred, ref) for pred in task.preds for ref in task.refs]

    for found in _answers(lines, problems, pairs):
        yield from found or ()


def _answers(lines: Lines, problems: Problems, answer: Callable[[Any], Answer]) -> Iterator[Answer | None]:
    """An answer a line. Empty lines at the end are not asked for one; any other is a problem."""
    empty: list[int] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            empty.append(number)
            continue
        for missed in empty:
            problems.add(missed, "expected a JSON object, found an empty line")
            yield None
        empty.clear()
        try:
            found = answer(json.loads(line))
        except ValidationError as error:
            problems.add(number, "; ".join(map(_told, error.errors(include_url=False))))
            yield None
        except (ValueError, RecursionError) as error:
            problems.add(number, f"expected a JSON object, found {line[:SHOWN]!r}: {error}")
            yield None
        else:
            yield found


def _told(fault: Any) -> str:
    place = ".".join(map(str, fault["loc"]))
    message = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "missing":
        return f"{place}: missing"
    shown = "" if fault["type"] == "value_error" else f", found {str(fault['input'])[:SHOWN]!r}"
    return f"{place}: {message}{shown}" if place else f"{message}{shown}"
