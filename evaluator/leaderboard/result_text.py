"""Results as JSON texts, quickly: lines of JSON as `Result.to_json` writes them, and rows that give results back.

A board has a million and a half results. Most of a result are records that several results share: findings,
similarities, runs and usages. Their JSON is made and read once here. Writing takes two thirds of the time of
`to_json`, and reading a quarter of that of `model_validate_json`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from pydantic import BaseModel, TypeAdapter

from evaluator.records import ErrorClass, Finding, Result, RunMetrics, TextMetrics, Usage
from evaluator.records.record import Bytes

_CACHED: Final = 65_536
_BYTES: Final[TypeAdapter[bytes]] = TypeAdapter(Bytes)
_FLOAT: Final = TypeAdapter(float)
_FIELDS: Final = set(Result.model_fields)


class ResultText(NamedTuple):
    """The fields of a result as JSON texts. A field is None if the result has no such record."""

    rank: int
    task: str
    command: str | None
    confidence: str
    finding: str
    nlc2cmd: str
    text: str | None
    run: str | None
    usage: str | None
    error: str | None

    def line(self, submission: str, suite: str) -> str:
        """Return `to_json` of the result of this submission and suite."""
        rank, task, command, confidence, finding, nlc2cmd, text, run, usage, error = self
        line = (
            f'{{"submission":"{submission}","suite":"{suite}","task":"{task}","rank":{rank},'
            f'"command":{command or "null"},"confidence":{confidence},"finding":{finding},"nlc2cmd":{nlc2cmd}'
        )
        if text is not None:
            line += f',"text":{text}'
        if run is not None:
            line += f',"run":{run}'
        if usage is not None:
            line += f',"usage":{usage}'
        if error is not None:
            line += f',"error":"{error}"'
        return line + "}"

    def result(self, submission: str, suite: str) -> Result:
        """Return the result of this submission and suite."""
        return Result.model_construct(
            _FIELDS,
            submission=submission,
            suite=suite,
            task=self.task,
            rank=self.rank,
            command=None if self.command is None else _command_of(self.command),
            confidence=float(self.confidence),
            finding=_finding_of(self.finding),
            nlc2cmd=float(self.nlc2cmd),
            text=None if self.text is None else _text_of(self.text),
            run=None if self.run is None else _run_of(self.run),
            usage=None if self.usage is None else _usage_of(self.usage),
            error=None if self.error is None else ErrorClass(self.error),
        )


def result_texts(results: Iterable[Result]) -> Iterator[ResultText]:
    """Yield the texts of results. The results must exist until the iterator ends."""
    known: dict[int, str] = {}

    def json_of(record: BaseModel | None) -> str | None:
        if record is None:
            return None
        text = known.get(id(record))
        if text is None:
            text = known[id(record)] = record.model_dump_json(exclude_defaults=True)
        return text

    for each in results:
        yield ResultText(
            each.rank,
            each.task,
            None if each.command is None else _json_of_command(each.command),
            _json_of_number(each.confidence),
            json_of(each.finding) or "null",
            _json_of_number(each.nlc2cmd),
            json_of(each.text),
            json_of(each.run),
            json_of(each.usage),
            None if each.error is None else each.error.value,
        )


def packed_texts(texts: Iterable[ResultText]) -> bytes:
    """Return texts of results as one JSON text, in which equal texts of records stand once."""
    places: dict[str, int] = {}
    rows = []
    for each in texts:
        records = [None if text is None else places.setdefault(text, len(places)) for text in each[4:9]]
        rows.append([*each[:4], *records, each.error])
    return json.dumps([list(places), rows]).encode()


def unpacked_texts(data: bytes, tasks: Collection[str] | None = None) -> dict[str, ResultText]:
    """Return the texts of first candidates by task, which `packed_texts` packed: of all tasks, or of `tasks` alone."""
    records, rows = json.loads(data)
    found = {}
    for row in rows:
        if tasks is None or row[1] in tasks:
            row[4:9] = (None if place is None else records[place] for place in row[4:9])
            text = ResultText(*row)
            found[text.task] = text
    return found


@lru_cache(maxsize=_CACHED)
def _json_of_command(command: bytes) -> str:
    return _BYTES.dump_json(command).decode()


def _json_of_number(value: float) -> str:
    text = repr(float(value))
    return _FLOAT.dump_json(value).decode() if "e" in text or "n" in text else text


@lru_cache(maxsize=_CACHED)
def _command_of(text: str) -> bytes:
    return _BYTES.validate_json(text)


@lru_cache(maxsize=_CACHED)
def _finding_of(text: str) -> Finding:
    return Finding.model_validate_json(text)


@lru_cache(maxsize=_CACHED)
def _text_of(text: str) -> TextMetrics:
    return TextMetrics.model_validate_json(text)


@lru_cache(maxsize=_CACHED)
def _run_of(text: str) -> RunMetrics:
    return RunMetrics.model_validate_json(text)


@lru_cache(maxsize=_CACHED)
def _usage_of(text: str) -> Usage:
    return Usage.model_validate_json(text)
