"""Write requests to models as files, and parse the replies that come back in files.

Two formats are written. A *batch* is a file of OpenAI's Batch API: one JSON object a line, with `custom_id`, `method`,
`url` and `body`. One such file has requests to one model and one endpoint, at most 50,000 requests, and at most 200 MB.
A *plain* file has one JSON object a line with `id`, `model`, `seed` and `messages`, or `input` for an embedding, so
that any program can answer it. A plain reply has `id` and `text`, or `id` and `embedding`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluator.errors import Problem
from evaluator.json_lines import LineProblems, read_json_lines
from evaluator.judges.panel.open_questions import PanelRequest
from evaluator.judges.panel.parse_reply import SCHEMA, ReplyForm, read_reply
from evaluator.judges.panel.vote_request import vote_request
from evaluator.judges.reasons import shown
from evaluator.model_server.api_types import (
    LostError,
    Received,
    embedding_request,
    read_chat,
    read_embedding,
)
from evaluator.model_server.embedding_text import encode

_URLS: Final = {True: "/v1/chat/completions", False: "/v1/embeddings"}
"""The endpoint of a request, by whether it is a chat."""


class BatchLimits(NamedTuple):
    """The limits of one batch file. The defaults are those of OpenAI's Batch API."""

    requests: int = 50_000
    size: int = 200_000_000


OPENAI: Final = BatchLimits()


class WrittenFile(NamedTuple):
    """A written file with requests: its name, model, number of requests and size in bytes.

    A plain file has requests to all models, so its `model` is empty.
    """

    name: str
    model: str
    requests: int
    size: int


def batch_line(request: PanelRequest, reply_tokens: int) -> bytes:
    """Return a request as a line of a batch file. The body equals the body of a request to the server."""
    name = request.model.name
    if isinstance(request.content, str):
        body = embedding_request(name, request.content)
    else:
        plain = request.form is ReplyForm.TRUTH
        body = vote_request(name, request.content, request.key.seed, reply_tokens, plain=plain)
    url = _URLS[request.is_chat]
    return _json_line({"custom_id": request.id, "method": "POST", "url": url, "body": body})


def plain_line(request: PanelRequest) -> bytes:
    """Return a request as a line that any program can answer."""
    question: dict[str, object] = {"id": request.id, "model": request.model.name, "seed": request.key.seed}
    if request.is_chat:
        schema = SCHEMA if request.form is ReplyForm.VERDICT else {"type": "string", "enum": ["true", "false"]}
        return _json_line({**question, "messages": request.content, "schema": schema})
    return _json_line({**question, "input": request.content})


def _json_line(value: Mapping[str, object]) -> bytes:
    return f"{json.dumps(value, ensure_ascii=True)}\n".encode()


class _OpenFile:
    """A file that grows by one request at a time."""

    def __init__(self, path: Path, model: str) -> None:
        self.path, self.model, self.requests, self.size = path, model, 0, 0
        self.file: BinaryIO = path.open("wb")

    def add(self, line: bytes) -> None:
        self.file.write(line)
        self.requests, self.size = self.requests + 1, self.size + len(line)

    def close(self) -> WrittenFile:
        self.file.close()
        return WrittenFile(self.path.name, self.model, self.requests, self.size)

    def has_room(self, line: bytes, limits: BatchLimits) -> bool:
        return self.requests < limits.requests and self.size + len(line) <= limits.size


def write_plain(folder: Path, requests: Iterable[PanelRequest]) -> list[WrittenFile]:
    """Write all requests to one plain file in a folder."""
    questions = None
    for request in requests:
        questions = questions or _OpenFile(folder / "questions.jsonl", "")
        questions.add(plain_line(request))
    return [questions.close()] if questions else []


def write_batches(
    folder: Path, requests: Iterable[PanelRequest], reply_tokens: int, limits: BatchLimits = OPENAI
) -> list[WrittenFile]:
    """Write requests to batch files in a folder, each with one model and one endpoint, and within the limits."""
    written: list[WrittenFile] = []
    current: dict[tuple[str, bool], _OpenFile] = {}
    number = itertools.count(1)
    for request in requests:
        line, group = batch_line(request, reply_tokens), (request.model.name, request.is_chat)
        if group in current and not current[group].has_room(line, limits):
            written.append(current.pop(group).close())
        if group not in current:
            name = re.sub(r"[^A-Za-z0-9.]+", "-", request.model.name).strip("-.")[:80]
            current[group] = _OpenFile(folder / f"batch-{next(number):03}-{name}.jsonl", request.model.name)
        current[group].add(line)
    return sorted([*written, *(each.close() for each in current.values())])


class FileReply(NamedTuple):
    """A reply from a line of a file. If the server did not answer the request, `failure` tells why."""

    path: Path
    line: int
    id: str
    received: Received
    plain: bool
    failure: str = ""

    @property
    def place(self) -> str:
        """Return the file and the line of the reply."""
        return f"{self.path}:{self.line}"


class _Answered(BaseModel):
    status_code: int
    body: Any = None


class _BatchResult(BaseModel):
    custom_id: str
    response: _Answered | None = None
    error: Any = None


class _PlainReply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str
    text: str | None = None
    embedding: Annotated[list[float], Field(min_length=1)] | None = None


_EXPECTED: Final = (
    'expected a line of a batch\'s results, {"custom_id": ..., "response": {"status_code": 200, "body": ...}}, '
    'or a plain reply, {"id": ..., "text": ...}; if the file is incomplete, fetch it again'
)


def read_replies(path: Path, data: bytes, is_chat: Mapping[str, bool]) -> tuple[list[FileReply], list[Problem]]:
    """Parse a file of replies, and return the replies and all problems with their lines.

    `is_chat` tells for the id of each known request whether its reply is a text. Without it, the reply is an embedding.
    """
    replies: list[FileReply] = []
    problems = LineProblems(path)
    for number, text, value in read_json_lines(data, problems, blank=True):
        try:
            replies.append(_read_line(path, number, text, value, is_chat))
        except ValidationError as error:
            problems.add(number, f"{_EXPECTED}; {_first_fault(error)}")
        except (ValueError, LostError) as error:
            problems.add(number, str(error))
    if not problems.lines and not problems.count:
        problems.add(0, "expected one reply a line, found an empty file")
    return replies, problems.all()


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'line'}: {shown(first['msg'])}"


def _read_line(path: Path, number: int, text: str, value: object, is_chat: Mapping[str, bool]) -> FileReply:
    if isinstance(value, dict) and "custom_id" in value:
        return _read_result(path, number, _BatchResult.model_validate_json(text), is_chat)
    reply = _PlainReply.model_validate_json(text)
    _check_known(reply.id, is_chat)
    if (reply.text is None) is is_chat[reply.id] or (reply.embedding is None) is not is_chat[reply.id]:
        wanted = "text" if is_chat[reply.id] else "embedding"
        raise ValueError(f"id {reply.id!r}: expected the field {wanted!r}, and no other field beside it")
    text = encode(reply.embedding) if reply.embedding is not None else reply.text or ""
    return FileReply(path, number, reply.id, Received(text, "", None), plain=True)


def _read_result(path: Path, number: int, result: _BatchResult, is_chat: Mapping[str, bool]) -> FileReply:
    _check_known(result.custom_id, is_chat)
    nothing = Received("", "", None)
    if result.error is not None or result.response is None:
        failure = f"it was not answered: {_message(result.error)}"
        return FileReply(path, number, result.custom_id, nothing, plain=False, failure=failure)
    if result.response.status_code != 200:
        failure = f"the server answered {result.response.status_code}: {_message(result.response.body)}"
        return FileReply(path, number, result.custom_id, nothing, plain=False, failure=failure)
    read = read_chat if is_chat[result.custom_id] else read_embedding
    try:
        received = read(json.dumps(result.response.body).encode())
    except LostError as error:
        raise ValueError(f"custom_id {result.custom_id!r}: {error}") from None
    return FileReply(path, number, result.custom_id, received, plain=False)


def _check_known(name: str, is_chat: Mapping[str, bool]) -> None:
    if name not in is_chat:
        raise ValueError(
            f"id {name[:80]!r} answers no open question: expected the id of a request that `bashboard panel export` "
            "writes with the same options, from the same tasks, evidence and models"
        )


def _message(value: object) -> str:
    """Return the message in the JSON of an error, which has no fixed form."""
    while isinstance(value, dict):
        value = value.get("error") or value.get("message") or value.get("code") or "no reason is given"
    return shown(str(value)) if value else "no reason is given"


def is_valid_vote(reply: FileReply, form: ReplyForm) -> bool:
    """Return whether a text reply is a valid vote."""
    return read_reply(reply.received.text, form).vote is not None
