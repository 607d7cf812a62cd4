"""Send requests to model servers with the openai SDK. No other module calls the servers.

A semaphore limits the number of concurrent requests. If a server asks for a pause, a rate limiter delays all requests
to it. The client sends a failed request again with exponential backoff and random jitter.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from evaluator.model_server.api_types import (
    UNKNOWN_STATUS,
    ExtensionError,
    LostError,
    ModeratedError,
    ParameterRefusedError,
    Received,
    RequestRefusedError,
    StatusError,
    StoppedError,
    embedding_request,
    error_inside,
    read_chat,
    read_embedding,
)
from evaluator.model_server.budget import Budget
from evaluator.model_server.client_settings import ClientSettings, PricedModel
from evaluator.model_server.model_connection import ModelConnection
from evaluator.model_server.rate_limit import RateLimiter, exhausted_for, requested_pause
from evaluator.wording import EXCERPT_LENGTH, excerpt

LONGEST_PAUSE_S: Final = 120.0
"""If a server asks for a longer pause, its quota is used up. The run then ends instead of waiting."""

_RETRIED_STATUSES: Final = frozenset(
    {408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, UNKNOWN_STATUS}
)
_FATAL_STATUSES: Final = frozenset({401, 402, 404, 405})
_FORBIDDEN: Final = 403
"""The status of a wrong key. Some servers use it for the content of one request too."""
_NOT_FOUND: Final = 404
_NO_METHOD: Final = 405
_FATAL_LENGTH: Final = 300
"""The characters of a fatal refusal that are shown. Some servers say only at the end what to do."""
_ADDRESS: Final = "is the address complete? it usually ends with /v1"
_MOST_MODELS: Final = 5
_EXTENSION_STATUSES: Final = frozenset({400, 415, 422, 501})
_LIMIT_FIELD: Final = "max_tokens"
_NEW_LIMIT_FIELD: Final = "max_completion_tokens"
"""The field that limits the tokens of a reply for the reasoning models of OpenAI, which refuse `max_tokens`."""
_FAILURES: Final = 3
"""Number of consecutive requests without an answer, despite retries, or forbidden ones, after which the run ends."""


class ModelReply(NamedTuple):
    """A model's reply, its cost, and the time in seconds from the request to the complete response.

    `plain` is true if the request had no extension.
    """

    text: str
    finish: str
    plain: bool
    input_tokens: int
    output_tokens: int
    usd: float
    latency_s: float


class ChatRequest(NamedTuple):
    """A request for a chat reply. `parameters` are the fields of its body except `model` and the limit of tokens.

    `extension` holds further fields of the body that a server may not know, such as a schema of the reply. If the
    server refuses them and `required` is false, the client sends the request without them.
    """

    model: PricedModel
    messages: Sequence[Mapping[str, str]]
    parameters: Mapping[str, object] = {}
    extension: Mapping[str, object] = {}
    required: bool = False


class _Exchange(NamedTuple):
    """A function that sends a request, a function that parses the response, and the maximum cost in US dollars.

    `plain` is true if the request has no extension. `required` is true if it makes no sense without its extension.
    `limit_field` is the field that limits the tokens of the reply. `fields` are the names of all parameters.
    """

    model: PricedModel
    send: Callable[[], Awaitable[Any]]
    read: Callable[[bytes], Received]
    most_usd: float
    plain: bool = True
    required: bool = False
    limit_field: str = ""
    fields: tuple[str, ...] = ()


class _LimitFieldError(Exception):
    """The model does not know the field `max_tokens`."""


class ModelClient:
    """A client for one endpoint of a model server. It has at most `settings.concurrency` requests in progress.

    `key_variable` is the environment variable of the server's key, for messages. If `is_attended` is true, a person
    waits: if the first request finds no model server at the address, it is not sent again.
    """

    def __init__(
        self,
        settings: ClientSettings,
        base_url: str,
        key: str,
        budget: Budget,
        key_variable: str = "the key",
        *,
        is_attended: bool = False,
    ) -> None:
        self._settings, self._base_url, self._budget = settings, base_url, budget
        self._key_variable = key_variable
        self._connection = ModelConnection(base_url, key, key_variable, settings.timeout_s)
        self._rate_limiter = RateLimiter()
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._without_extension: set[str] = set()
        self._limit_fields: dict[str, str] = {}
        self._random = random.Random()  # noqa: S311 - spreads repeated requests, decides nothing
        self._consecutive_failures = 0
        self._needs_first_reply = is_attended

    async def close(self) -> None:
        """Close the connections to the server. A later request opens new ones."""
        await self._connection.close()

    async def chat(self, request: ChatRequest) -> ModelReply:
        """Send a request for a chat reply, and return the reply.

        Raises RequestRefusedError if this request gets no reply, ParameterRefusedError if the server refuses a
        parameter, StoppedError if the server can answer no further request, ExtensionError if the server refuses a
        required extension, and BudgetSpentError if the budget does not allow the request.
        """
        model = request.model.name
        if request.required or (request.extension and model not in self._without_extension):
            try:
                return await self._send_chat(request, request.extension)
            except ExtensionError:
                if request.required:
                    raise
            reply = await self._send_chat(request, {})
            self._without_extension.add(model)
            return reply
        return await self._send_chat(request, {})

    async def _send_chat(self, request: ChatRequest, extension: Mapping[str, object]) -> ModelReply:
        """Send a request with the field that limits the tokens for this model, which a refusal may tell."""
        model = request.model.name
        try:
            return await self._send_until_answered(
                self._chat(request, extension, self._limit_fields.get(model, _LIMIT_FIELD))
            )
        except _LimitFieldError:
            self._limit_fields[model] = _NEW_LIMIT_FIELD
        return await self._send_until_answered(self._chat(request, extension, _NEW_LIMIT_FIELD))

    def _chat(self, request: ChatRequest, extension: Mapping[str, object], limit_field: str) -> _Exchange:
        create: Any = self._connection.sdk.chat.completions.with_raw_response.create
        model, most_tokens = request.model, self._settings.reply_tokens
        body = {**request.parameters, limit_field: most_tokens}
        messages = list(request.messages)
        input_bytes = sum(len(message["content"].encode()) for message in messages)  # a token has at least one byte
        return _Exchange(
            model,
            lambda: create(model=model.name, messages=messages, extra_body={**body, **extension}),
            read_chat,
            model.usd(input_bytes, most_tokens),
            plain=not extension,
            required=request.required,
            limit_field=limit_field,
            fields=tuple(body),
        )

    async def embed(self, model: PricedModel, text: str) -> ModelReply:
        """Return the encoded embedding of a text by an embedding model. Raises the same errors as `chat`."""
        create: Any = self._connection.sdk.embeddings.with_raw_response.create
        parameters = embedding_request(model.name, text)
        most_usd = model.usd(len(text.encode()), 0)
        return await self._send_until_answered(_Exchange(model, lambda: create(**parameters), read_embedding, most_usd))

    async def _send_until_answered(self, request: _Exchange) -> ModelReply:
        """Send a request, and send it again after a temporary failure, at most `settings.attempts` times in total.

        llama.cpp's server answers 500 if the model stops inside the schema, for example at the limit of its tokens. The
        same reply would follow again. So the second equal answer ends the attempts if the schema is required, and other
        requests may succeed.
        """
        problem, extension_at_fault = "", False
        for attempt in range(self._settings.attempts):
            await asyncio.sleep(self._backoff(attempt))
            try:
                async with self._slots:
                    await self._rate_limiter.wait()
                    reply = await self._attempt(request)
            except StatusError as error:
                models = await self._connection.models() if error.status == _NOT_FOUND else []
                earlier, problem = problem, self._refusal(error, request, models)
                extension_at_fault = error.status == 500 and not request.plain
                if extension_at_fault and request.required and problem == earlier:
                    break
            except LostError as error:
                problem, extension_at_fault = str(error), False
                if error.is_wrong_address:
                    self._expect_earlier_reply(f"does not answer: {problem}")
            else:
                self._consecutive_failures = 0
                self._needs_first_reply = False
                return reply
        if extension_at_fault and not request.required:
            raise ExtensionError(problem)
        self._consecutive_failures += 1
        if self._consecutive_failures >= _FAILURES:
            if extension_at_fault:
                raise ExtensionError(problem)
            raise StoppedError(f"{self._base_url} does not answer: {problem}")
        raise RequestRefusedError(f"{request.model.name} did not answer: {problem}")

    def _backoff(self, attempt: int) -> float:
        """Return the pause in seconds before an attempt. There is no pause before the first attempt.

        After that, the average pause doubles with each attempt.
        """
        longest = min(LONGEST_PAUSE_S, self._settings.pause_s * 2**attempt) if attempt else 0.0
        return longest - self._random.random() * longest / 2

    async def _attempt(self, request: _Exchange) -> ModelReply:
        self._budget.begin(request.most_usd, is_priced=request.model.is_priced)
        usd, tokens = request.most_usd, (0, 0)  # the server may have done the work of a lost request
        try:
            began = time.monotonic()
            body, headers = await self._connection.receive(request.send)
            latency_s = time.monotonic() - began
            if error := error_inside(body, headers):
                raise error
            received = request.read(body)
            if received.tokens is not None:
                tokens, usd = received.tokens, request.model.usd(*received.tokens)
            self._budget.replies += 1
        except StatusError:
            usd = 0.0
            raise
        finally:
            self._budget.end(request.most_usd, usd, sum(tokens))
        self._rate_limiter.pause_for(
            min(LONGEST_PAUSE_S, exhausted_for(headers, tokens[0] + self._settings.reply_tokens))
        )
        return ModelReply(received.text, received.finish, request.plain, *tokens, usd, latency_s)

    def _expect_earlier_reply(self, problem: str) -> None:
        """Raise StoppedError if a person waits for the first reply of this server, whose address may be wrong."""
        if self._needs_first_reply:
            raise StoppedError(f"{self._base_url} {problem}; {_ADDRESS}")

    def _description(self, error: StatusError, models: Sequence[str]) -> str:
        """Describe a refusal, and ask for what is probably wrong."""
        length = _FATAL_LENGTH if error.status in (*_FATAL_STATUSES, _FORBIDDEN) else EXCERPT_LENGTH
        status = "with an error" if error.status == UNKNOWN_STATUS else str(error.status)
        description = f"it answers {status}: {excerpt(self._connection.without_key(error.message), length)}"
        if error.status in (401, _FORBIDDEN):
            description += f"; is {self._key_variable} right?"
        if error.status == _NO_METHOD:
            description += f"; {_ADDRESS}"
        return description + _model_hint(models) if error.status == _NOT_FOUND else description

    def _refusal(self, error: StatusError, request: _Exchange, models: Sequence[str]) -> str:
        """Describe the server's refusal of a request. Raise an error if the client may not send this request again.

        `models` are the names of the server's models after status 404.
        """
        is_limit_refused = error.status == 400 and _NEW_LIMIT_FIELD in error.message and not error.is_too_long
        if is_limit_refused and request.limit_field == _LIMIT_FIELD:
            raise _LimitFieldError
        description = self._description(error, models)
        if error.is_moderated:
            raise ModeratedError(f"{request.model.name}: {description}")
        is_fatal = error.status in _FATAL_STATUSES or error.code == "insufficient_quota"
        if error.status == UNKNOWN_STATUS:
            self._expect_earlier_reply(f"refuses: {description}")
        if error.status == _FORBIDDEN:
            self._consecutive_failures += 1
            is_fatal = is_fatal or self._consecutive_failures >= _FAILURES
        if is_fatal:
            raise StoppedError(f"{self._base_url} refuses: {description}")
        if error.status in _RETRIED_STATUSES:
            pause = requested_pause(error.headers) or 0.0
            if pause > LONGEST_PAUSE_S:
                raise StoppedError(f"{self._base_url} asks to come back in {pause:.0f} s")
            self._rate_limiter.pause_for(pause)
            return description
        field = error.refused_field(request.fields, by_words=request.plain)
        if field is not None:
            raise ParameterRefusedError(field, f"{request.model.name}: {description}")
        if error.status in _EXTENSION_STATUSES and not request.plain and not error.is_too_long:
            raise ExtensionError(description)
        raise RequestRefusedError(f"{request.model.name}: {description}")


def _model_hint(models: Sequence[str]) -> str:
    """Return the names of the server's models for a message. Without a list, the address is probably wrong."""
    if not models:
        return f"; {_ADDRESS}"
    more = ", …" if len(models) > _MOST_MODELS else ""
    return f"; is --model right? GET /models lists: {', '.join(map(excerpt, models[:_MOST_MODELS]))}{more}"
