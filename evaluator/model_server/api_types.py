"""Validate the responses of a model server, and define the errors that a request can cause.

    ModelServerError(InfraError)
    ├── RequestRefusedError  this request was refused or got no answer, but others may succeed
    │   ├── ParameterRefusedError  the server refused one field of the request, such as `temperature`
    │   └── ModeratedError         the server's rules forbid the content of the request
    ├── StoppedError         no request can succeed now: the key, quota, model or server is at fault
    ├── StatusError          the server answered with a status other than 200
    ├── LostError            no complete and valid response arrived
    └── ExtensionError       the server refused a request with an extension, such as a schema

The module `client` handles StatusError and LostError itself, and ExtensionError if the extension is not required.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from evaluator.errors import InfraError
from evaluator.model_server.embedding_text import encode

if TYPE_CHECKING:
    from openai import APIStatusError

_FIELD_STATUSES: Final = frozenset({400, 422})
"""The statuses with which servers refuse a field of a request."""
_CONTEXT: Final = re.compile(r"context (length|size|window)")
"""The words with which servers refuse a prompt that is too long for the model."""
_MODERATION_STATUSES: Final = frozenset({400, 403, 422})
_MODERATION: Final = re.compile(r"content.?(filter|policy|management)|moderat|safety|(prompt|input) was flagged", re.I)
"""The words with which servers refuse the content of a request (Azure, OpenRouter, OpenAI)."""
_MOST_TOKENS: Final = 1_000_000_000
"""No model has a context of this number of tokens. A server that counts more is wrong."""


class ModelServerError(InfraError):
    """No valid reply of a model arrived. The subclass of this error tells the cause."""


class RequestRefusedError(ModelServerError):
    """The server refused one request or did not answer it. Other requests may succeed."""


class ParameterRefusedError(RequestRefusedError):
    """The server refused the field `parameter` of a request. It would refuse this field in every request."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class ModeratedError(RequestRefusedError):
    """The server's rules forbid the content of one request. This says nothing about other requests."""


class StoppedError(ModelServerError):
    """No request can succeed now, because of the key, the quota, the model or the server."""


class StatusError(ModelServerError):
    """The server answered with a status other than 200. `code` and `field` are `code` and `param` of its error."""

    def __init__(
        self, status: int, headers: Mapping[str, str], code: str | None, message: str, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.headers, self.code, self.message, self.field = status, headers, code, message, field

    @property
    def is_too_long(self) -> bool:
        """True if the server refused a prompt that is too long for the model."""
        return _CONTEXT.search(self.message) is not None

    @property
    def is_moderated(self) -> bool:
        """True if the server refused the content of a request."""
        words = f"{self.code} {self.message}"
        return self.status in _MODERATION_STATUSES and _MODERATION.search(words) is not None

    def refused_field(self, names: Collection[str], *, by_words: bool) -> str | None:
        """Return the field of the request, one of `names`, that the server refused, or None if it refused no field.

        Some servers name the field only in their message, which is read if `by_words` is true. The refusal of a schema
        or a grammar can quote the whole request, so the words of such a message name no field.
        """
        if self.status not in _FIELD_STATUSES or self.is_too_long:
            return None
        if self.field in names:
            return self.field
        words = re.findall(r"\w+", self.message) if by_words else []
        return next((name for name in names if name in words), None)


def status_error(error: APIStatusError) -> StatusError:
    """Return the error of a response. Its message is the whole body if the body names no message, as with FastAPI."""
    prefix = f"Error code: {error.status_code}"
    message = error.message.removeprefix(f"{prefix} - ")
    if message == prefix:
        message = error.response.text.strip() or prefix
    return StatusError(error.status_code, error.response.headers, error.code, message, error.param)


class LostError(ModelServerError):
    """The connection failed before the response was complete, or the response is invalid."""


class ExtensionError(ModelServerError):
    """The server refused a request with an extension, for example a JSON schema or a grammar for the reply."""


class _Usage(BaseModel):
    prompt_tokens: int = Field(0, ge=0, le=_MOST_TOKENS)
    completion_tokens: int = Field(0, ge=0, le=_MOST_TOKENS)


class _Part(BaseModel):
    type: str = "text"
    text: str | None = None


class _Message(BaseModel):
    """A message. Some servers send its content as a list of parts, of which only those of the type `text` count."""

    content: str | list[_Part] | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        content = self.content
        if isinstance(content, list):
            content = "".join(part.text or "" for part in content if part.type == "text")
        return content or self.refusal or ""


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
    return Received(choice.message.text, choice.finish_reason or "", _tokens(completion.usage))


def read_embedding(body: bytes) -> Received:
    """Return the embedding in a server's response, encoded as text. Raises LostError if the response is invalid."""
    try:
        response = _Embeddings.model_validate_json(body)
        return Received(encode(response.data[0].embedding), "", _tokens(response.usage))
    except ValueError:
        raise LostError("what it sent is no embedding") from None


def _tokens(usage: _Usage | None) -> tuple[int, int] | None:
    return None if usage is None else (usage.prompt_tokens, usage.completion_tokens)
