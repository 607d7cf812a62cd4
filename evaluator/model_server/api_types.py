"""Validate the responses of a model server, and define the errors that a request can cause.

    ModelServerError(InfraError)
    ├── RequestRefusedError  this request was refused or got no answer, but others may succeed
    ├── StoppedError         no request can succeed now: the key, quota, model or server is at fault
    ├── StatusError          the server answered with a status other than 200
    ├── LostError            no complete and valid response arrived
    └── ExtensionError       the server refused a request with an extension, such as a schema

The module `client` handles the last three errors itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from evaluator.errors import InfraError
from evaluator.model_server.embedding_text import encode


class ModelServerError(InfraError):
    """No valid reply of a model arrived. The subclass of this error tells the cause."""


class RequestRefusedError(ModelServerError):
    """The server refused one request or did not answer it. Other requests may succeed."""


class StoppedError(ModelServerError):
    """No request can succeed now, because of the key, the quota, the model or the server."""


class StatusError(ModelServerError):
    """The server answered with a status other than 200."""

    def __init__(self, status: int, headers: Mapping[str, str], code: str | None, message: str) -> None:
        super().__init__(message)
        self.status, self.headers, self.code, self.message = status, headers, code, message


class LostError(ModelServerError):
    """The connection failed before the response was complete, or the response is invalid."""


class ExtensionError(ModelServerError):
    """The server refused a request with an extension, for example a JSON schema or a grammar for the reply."""


class _Usage(BaseModel):
    prompt_tokens: int = Field(0, ge=0)
    completion_tokens: int = Field(0, ge=0)


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class _Embedded(BaseModel):
    embedding: list[float]


class _Embeddings(BaseModel):
    data: list[_Embedded] = Field(min_length=1, max_length=1)
    usage: _Usage | None = None


class Received(NamedTuple):
    """A model's reply: its text, the reason why it ended, and the numbers of input and output tokens.

    `tokens` is None if the server does not count tokens.
    """

    text: str
    finish: str
    tokens: tuple[int, int] | None


def embedding_request(model: str, text: str) -> dict[str, Any]:
    """Build the request for the embedding of a text."""
    return {"model": model, "input": text, "encoding_format": "float"}


def read_chat(body: bytes) -> Received:
    """Parse a model server's response to a chat request. Raises LostError if the response is invalid."""
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError:
        raise LostError("what it sent is no chat completion") from None
    choice = completion.choices[0]
    text = choice.message.content or choice.message.refusal or ""
    return Received(text, choice.finish_reason or "", _tokens(completion.usage))


def read_embedding(body: bytes) -> Received:
    """Return the embedding in a server's response, encoded as text. Raises LostError if the response is invalid."""
    try:
        response = _Embeddings.model_validate_json(body)
        return Received(encode(response.data[0].embedding), "", _tokens(response.usage))
    except ValueError:
        raise LostError("what it sent is no embedding") from None


def _tokens(usage: _Usage | None) -> tuple[int, int] | None:
    return None if usage is None else (usage.prompt_tokens, usage.completion_tokens)
