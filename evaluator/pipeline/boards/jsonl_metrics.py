"""Compute text metrics for JSON Lines. Researchers can compare the output with that of other implementations.

Each line of output belongs to one line of input. An invalid input line becomes `null` in the output, so that the lines
stay aligned. The invalid line is also reported as a problem with its line number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator

from evaluator.json_lines import ForeignFileError, LineProblems, numbered_lines, parse_line
from evaluator.metrics.nlc2cmd import score_task
from evaluator.shell.nlc2cmd.score import reading_of, score_pair

Confidence: TypeAlias = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Lines: TypeAlias = Iterable[bytes]

Answer = TypeVar("Answer")
SHOWN: Final = 60
"""Maximum number of characters of an invalid value that a problem shows."""


class Aggregation(StrEnum):
    """The rule that combines the scores of a task's pairs into one. See `evaluator.metrics.nlc2cmd.score_task`."""

    ORGANISERS = "organisers"
    PAPER = "paper"


class _Line(BaseModel):
    """A line of JSON input. Only the fields of the subclass are read from the line, and other fields are ignored."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class PairLine(_Line):
    """A line of input with one prediction and one reference. In a corpus, the reference is called `command`."""

    pred: str
    ref: Annotated[str, Field(validation_alias=AliasChoices("ref", "command"))]
    confidence: Confidence = 1.0


class ListLine(_Line):
    """A line of input with a task's predictions and references.

    `confidences` has one number per prediction, by default 1.
    """

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
        """The confidence of each prediction, 1 by default."""
        return [1.0] * len(self.preds) if self.confidences is None else self.confidences


class CommandLine(_Line):
    """A line of input with one command. In a corpus, the field is called `command`."""

    cmd: Annotated[str, Field(validation_alias=AliasChoices("cmd", "command"))]


def score_jsonl(
    lines: Lines,
    problems: LineProblems,
    *,
    strict_2020: bool = False,
    aggregation: Aggregation = Aggregation.ORGANISERS,
) -> Iterator[dict[str, float] | None]:
    """Yield the NLC2CMD score of each line. A line holds one pair, or a task's lists of predictions and references.

    The result of a pair is `{"score": …}`. The result of a task also has one score for each rule in `Aggregation`. If
    no parser reads some commands of a line, the result has their number as `unreadable`.
    """

    def score(value: Any) -> dict[str, float]:
        if not isinstance(value, dict) or "preds" not in value:
            pair = PairLine.model_validate(value)
            paired = pair.confidence * score_pair(pair.pred, pair.ref, strict_2020=strict_2020)
            return {"score": paired, **_unreadable(pair.pred, pair.ref)}
        task = ListLine.model_validate(value)
        both = score_task(task.preds, task.weights, task.refs, strict_2020=strict_2020)._asdict()
        return {"score": both[aggregation], **both, **_unreadable(*task.preds, *task.refs)}

    return _answers(lines, problems, score)


def _unreadable(*commands: str) -> dict[str, float]:
    count = sum(reading_of(command).called is None for command in commands)
    return {"unreadable": count} if count else {}


def parsed_commands(
    lines: Lines, problems: LineProblems, *, strict_2020: bool = False
) -> Iterator[dict[str, list[tuple[str, list[str]]] | None] | None]:
    """Yield the utilities that each line's command calls. Each has the flags that the NLC2CMD metric counts."""

    def parse(value: Any) -> dict[str, list[tuple[str, list[str]]] | None]:
        reading = reading_of(CommandLine.model_validate(value).cmd)
        called = reading.strict if strict_2020 else reading.called
        return {"utils": None if called is None else [(name, list(flags)) for name, flags in called]}

    return _answers(lines, problems, parse)


def read_pairs(lines: Lines, problems: LineProblems) -> Iterator[tuple[str, str]]:
    """Yield the pairs of all lines: each prediction of a line together with each reference of the same line."""

    def pairs(value: Any) -> list[tuple[str, str]]:
        if not isinstance(value, dict) or "preds" not in value:
            pair = PairLine.model_validate(value)
            return [(pair.pred, pair.ref)]
        task = ListLine.model_validate(value)
        return [(pred, ref) for pred in task.preds for ref in task.refs]

    for pairs_of_line in _answers(lines, problems, pairs):
        yield from pairs_of_line or ()


def _answers(lines: Lines, problems: LineProblems, answer: Callable[[Any], Answer]) -> Iterator[Answer | None]:
    """Call `answer` with the JSON value of each line, and yield the results.

    For an invalid line, yield None and add a problem to `problems`. An empty line is invalid, unless only empty lines
    follow.
    """
    empty: list[int] = []
    for number, line in _numbered(lines, problems):
        if not line.strip():
            empty.append(number)
            continue
        problems.lines += 1
        for number_of_empty in empty:
            problems.add(number_of_empty, "expected a JSON object, found an empty line")
            yield None
        empty.clear()
        try:
            result = answer(parse_line(line))
        except ValidationError as error:
            problems.add(number, "; ".join(map(_describe_error, error.errors(include_url=False))))
            yield None
        except ValueError as error:
            problems.add(number, f"expected a JSON object: {error}")
            yield None
        else:
            yield result


def _numbered(lines: Lines, problems: LineProblems) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers. If the file is no JSON lines, this is its only problem."""
    try:
        yield from numbered_lines(lines)
    except ForeignFileError as error:
        problems.add(0, str(error))


def _describe_error(error: Any) -> str:
    location = ".".join(map(str, error["loc"]))
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "missing":
        return f"{location}: missing"
    shown = "" if error["type"] == "value_error" else f", found {str(error['input'])[:SHOWN]!r}"
    return f"{location}: {message}{shown}" if location else f"{message}{shown}"
