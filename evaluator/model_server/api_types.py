"""Validate the responses of a model server, and define the errors that a request can cause.

    ModelServerError(InfraError)
    ├── RequestRefusedError  this request was refused or got no answer, but others may succeed
    │   ├── ParameterRefusedError  the server refused one field of the request, such as `temperature`
    │   └── ModeratedError         the server's rules forbid the content of the request
    ├── StoppedError         no request can succeed now: the key, quota, model or server is at fault
    ├── StatusError          the server answered with a status other than 200
    ├── LostError            no complete and valid response arrived
    │   ├── NoServerError      nothing answers at the address
    │   └── NoCompletionError  the response is no reply of a model
    └── ExtensionError       the server refused a request with an extension, such as a schema

The module `client` handles StatusError and LostError itself, and ExtensionError if the extension is not required.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import BaseModel, Field

from evaluator.errors import InfraError
from evaluator.model_server.embedding_text import encode
from evaluator.reply_forms import MODERATION, Unanswered, read_body, token_count
from evaluator.wording import excerpt

if TYPE_CHECKING:
    from openai import APIStatusError

_FIELD_STATUSES: Final = frozenset({400, 422})
"""The statuses with which servers refuse a field of a request."""
_CONTEXT: Final = re.compile(r"context (length|size|window)")
"""The words with which servers refuse a prompt that is too long for the model."""
_MODERATION_STATUSES: Final = frozenset({400, 403, 422})
_STATUS: Final = re.compile(r"[45]\d\d")
UNKNOWN_STATUS: Final = 599
"""The status of an error without a known one, which may be temporary."""
_STATUS_OF_CODE: Final = {
    **dict.fromkeys(("rate_limit_exceeded", "rate_limit_error", "too_many_requests", "insufficient_quota"), 429),
    **dict.fromkeys(("invalid_api_key", "authentication_error"), 401),
    **dict.fromkeys(("model_not_found", "not_found_error"), 404),
    **dict.fromkeys(("overloaded_error", "server_error", "api_error"), 503),
    **dict.fromkeys(("invalid_request_error", "context_length_exceeded", "content_filter"), 400),
}
"""The statuses of errors that have only a name."""


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
        return self.status in _MODERATION_STATUSES and MODERATION.search(words) is not None

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
    """The connection failed before the response was complete, or the response is invalid.

    `is_wrong_address` is true if the address may be wrong.
    """

    is_wrong_address = False


class NoServerError(LostError):
    """There is no server at the address: the name is unknown, or the connection is refused."""

    is_wrong_address = True


class NoCompletionError(LostError):
    """The response is complete, but no reply of a model. The address may be that of another service."""

    is_wrong_address = True


class ExtensionError(ModelServerError):
    """The server refused a request with an extension, for example a JSON schema or a grammar for the reply."""


class _Embedded(BaseModel):
    embedding: list[float]


class _Embeddings(BaseModel):
    data: list[_Embedded] = Field(min_length=1, max_length=1)
    usage: dict[str, Any] | None = None


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
    """Parse a model server's response to a chat request. Raises NoCompletionError if the response is invalid.

    If the reply holds no answer, `finish` is the reason: a value of `Unanswered`.
    """
    value = _object(body)
    reply = read_body(value) if isinstance(value.get("choices"), list) else None
    if reply is None:
        raise NoCompletionError(f"what it sent is no chat completion: {excerpt(body.decode(errors='replace'))}")
    text, finish = _whole(reply.text), _whole(reply.no_answer or reply.finish)
    if text != reply.text and reply.no_answer is None:
        finish = Unanswered.BROKEN
    return Received(text, finish, _both(reply.input_tokens, reply.output_tokens))


def read_embedding(body: bytes) -> Received:
    """Return the embedding in a response, encoded as text. Raises NoCompletionError if the response is invalid."""
    try:
        response = _Embeddings.model_validate_json(body)
        usage = response.usage or {}
        counts = [token_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")]
        return Received(encode(response.data[0].embedding), "", _both(counts[0], counts[1] or 0))
    except ValueError:
        raise NoCompletionError("what it sent is no embedding") from None


def _whole(text: str) -> str:
    """Return a text with a question mark in place of each half of a surrogate pair, which no log can hold."""
    return text.encode(errors="replace").decode()


def error_inside(body: bytes, headers: Mapping[str, str]) -> StatusError | None:
    """Return the error in a response with status 200, as gateways send it, or None if the response has no error."""
    value = _object(body)
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    error = value.get("error") or first.get("error") or (value if value.get("object") == "error" else None)
    if not error:
        return None
    fields: Mapping[str, Any] = error if isinstance(error, dict) else {"message": error}
    code = fields.get("code") or fields.get("type")
    numbers = [int(text) for text in (str(code), str(fields.get("status"))) if _STATUS.fullmatch(text)]
    status = numbers[0] if numbers else _STATUS_OF_CODE.get(str(code), UNKNOWN_STATUS)
    return StatusError(status, headers, None if code is None else str(code), _words(fields, error), fields.get("param"))


def _words(fields: Mapping[str, Any], error: object) -> str:
    """Return the message of an error. A gateway puts the words of the server behind it into `metadata`."""
    metadata = fields.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return "; ".join(str(text) for text in (fields.get("message"), raw) if text) or str(error)


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _both(input_tokens: int | None, output_tokens: int | None) -> tuple[int, int] | None:
    return None if input_tokens is None or output_tokens is None else (input_tokens, output_tokens)
