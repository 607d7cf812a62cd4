"""Send requests to model servers with the openai SDK. No other module calls the servers.

A semaphore limits the number of concurrent requests. If a server asks for a pause, a rate limiter delays all requests
to it. The client sends a failed request again with exponential backoff and random jitter. The client passes the
server's key only to the SDK.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evaluator.judges.panel.api_types import (
    LostError,
    Received,
    RequestRefusedError,
    SchemaError,
    StatusError,
    StoppedError,
    chat_request,
    embedding_request,
    read_chat,
    read_embedding,
)
from evaluator.judges.panel.budget import Budget
from evaluator.judges.panel.rate_limit import RateLimiter, exhausted_for, requested_pause
from evaluator.judges.panel.settings import KEY_VARIABLE, PanelModel, PanelSettings
from evaluator.judges.reasons import shown

if TYPE_CHECKING:
    from openai import AsyncOpenAI

LONGEST_PAUSE_S: Final = 120.0
"""If a server asks for a longer pause, its quota is used up. The run then ends instead of waiting."""

_RETRIED_STATUSES: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_FATAL_STATUSES: Final = frozenset({401, 402, 403, 404})
_SCHEMA_STATUSES: Final = frozenset({400, 415, 422, 501})
_FAILURES: Final = 3
"""Number of consecutive requests without an answer, despite retries, after which the server counts as unavailable."""


class ModelReply(NamedTuple):
    """A model's reply and its cost. `plain` is true if the request contained no schema."""

    text: str
    finish: str
    plain: bool
    input_tokens: int
    output_tokens: int
    usd: float


class _ModelRequest(NamedTuple):
    """A request: a function that sends it, a function that parses the response, and the maximum cost in US dollars."""

    model: PanelModel
    send: Callable[[], Awaitable[Any]]
    read: Callable[[bytes], Received]
    most_usd: float
    plain: bool


class ModelClient:
    """A client for one endpoint of a model server. It has at most `settings.concurrency` requests in progress."""

    def __init__(self, settings: PanelSettings, base_url: str, key: str, budget: Budget) -> None:
        self._settings, self._base_url, self._key, self._budget = settings, base_url, key, budget
        self._rate_limiter = RateLimiter()
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._without_schema: set[str] = set()
        self._random = random.Random()  # noqa: S311 - spreads repeated requests, decides nothing
        self._consecutive_failures = 0
        self._sdk: AsyncOpenAI | None = None

    def _open(self) -> AsyncOpenAI:
        if self._sdk is None:
            from openai import AsyncOpenAI, Omit

            self._sdk = AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._key,
                max_retries=0,  # `_send_until_answered` retries, because it knows the budget and the rate limits
                timeout=self._settings.timeout_s,
                # the SDK would read these from the environment and send them to any server
                default_headers={"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()},  # type: ignore[dict-item]
            )
        return self._sdk

    async def close(self) -> None:
        """Close the connections to the server."""
        if self._sdk is not None:
            await self._sdk.close()

    async def chat(
        self, model: PanelModel, messages: list[dict[str, str]], seed: int, *, plain: bool = False
    ) -> ModelReply:
        """Request a chat reply from a model, and return the reply.

        The request has a schema if the server supports it and `plain` is false.

        Raises RequestRefusedError if this request gets no reply, StoppedError if the server can answer no further
        request, and BudgetSpentError if the budget does not allow the request.
        """
        if plain or model.name in self._without_schema:
            return await self._send_until_answered(self._chat(model, messages, seed, plain=True))
        try:
            return await self._send_until_answered(self._chat(model, messages, seed, plain=False))
        except SchemaError:
            reply = await self._send_until_answered(self._chat(model, messages, seed, plain=True))
            self._without_schema.add(model.name)
            return reply

    def _chat(self, model: PanelModel, messages: list[dict[str, str]], seed: int, *, plain: bool) -> _ModelRequest:
        create: Any = self._open().chat.completions.with_raw_response.create
        parameters = chat_request(model.name, messages, seed, self._settings.reply_tokens, plain=plain)
        input_bytes = sum(len(message["content"].encode()) for message in messages)  # a token has at least one byte
        return _ModelRequest(
            model, lambda: create(**parameters), read_chat, model.usd(input_bytes, self._settings.reply_tokens), plain
        )

    async def embed(self, model: PanelModel, text: str) -> ModelReply:
        """Return the encoded embedding of a text by an embedding model. Raises the same errors as `chat`."""
        create: Any = self._open().embeddings.with_raw_response.create
        parameters = embedding_request(model.name, text)
        most_usd = model.usd(len(text.encode()), 0)
        return await self._send_until_answered(
            _ModelRequest(model, lambda: create(**parameters), read_embedding, most_usd, plain=True)
        )

    async def _send_until_answered(self, request: _ModelRequest) -> ModelReply:
        """Send a request, and send it again after a temporary failure, at most `settings.attempts` times in total."""
        problem, schema_at_fault = "", False
        for attempt in range(self._settings.attempts):
            await asyncio.sleep(self._backoff(attempt))
            try:
                async with self._slots:
                    await self._rate_limiter.wait()
                    reply = await self._attempt(request)
            except StatusError as error:
                problem, schema_at_fault = self._refusal(error, request), error.status == 500 and not request.plain
            except LostError as error:
                problem, schema_at_fault = str(error), False
            else:
                self._consecutive_failures = 0
                return reply
        if schema_at_fault:  # llama.cpp's server answers 500 if its model stops inside the schema
            raise SchemaError(problem)
        self._consecutive_failures += 1
        if self._consecutive_failures >= _FAILURES:
            raise StoppedError(f"{self._base_url} does not answer: {problem}")
        raise RequestRefusedError(f"{request.model.name} did not answer: {problem}")

    def _backoff(self, attempt: int) -> float:
        """Return the pause in seconds before an attempt. There is no pause before the first attempt.

        After that, the average pause doubles with each attempt.
        """
        longest = min(LONGEST_PAUSE_S, self._settings.pause_s * 2**attempt) if attempt else 0.0
        return longest - self._random.random() * longest / 2

    async def _attempt(self, request: _ModelRequest) -> ModelReply:
        self._budget.begin(request.most_usd, is_priced=request.model.is_priced)
        usd, tokens = request.most_usd, (0, 0)  # the server may have done the work of a lost request
        try:
            body, headers = await self._exchange(request)
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
        return ModelReply(received.text, received.finish, request.plain, *tokens, usd)

    async def _exchange(self, request: _ModelRequest) -> tuple[bytes, Mapping[str, str]]:
        """Send a request with the time limit `timeout_s`. Return the body and headers of a response with status 200."""
        from openai import APIError, APIStatusError

        try:
            async with asyncio.timeout(self._settings.timeout_s):  # the SDK's timeout restarts with every byte
                response = (await request.send()).http_response
                return response.content, response.headers
        except TimeoutError:
            raise LostError(f"nothing whole came in {self._settings.timeout_s:g} s") from None
        except APIStatusError as error:
            message = str(error.message).removeprefix(f"Error code: {error.status_code} - ")
            raise StatusError(error.status_code, error.response.headers, error.code, message) from None
        except APIError as error:
            raise LostError(shown(str(error.__cause__ or error))) from None

    def _refusal(self, error: StatusError, request: _ModelRequest) -> str:
        """Describe the server's refusal of a request. Raise an error if the client may not send this request again."""
        description = f"it answers {error.status}: {shown(self._without_key(error.message))}"
        if error.status in _FATAL_STATUSES or error.code == "insufficient_quota":
            hint = f"; is {KEY_VARIABLE} right?" if error.status in (401, 403) else ""
            raise StoppedError(f"{self._base_url} refuses: {description}{hint}")
        if error.status in _RETRIED_STATUSES:
            pause = requested_pause(error.headers) or 0.0
            if pause > LONGEST_PAUSE_S:
                raise StoppedError(f"{self._base_url} asks to come back in {pause:.0f} s")
            self._rate_limiter.pause_for(pause)
            return description
        if error.status in _SCHEMA_STATUSES and not request.plain:
            raise SchemaError(description)
        raise RequestRefusedError(f"{request.model.name}: {description}")

    def _without_key(self, text: str) -> str:
        """Remove the server's key from an error text, because some servers quote keys.

        A key of at most four characters, such as `none`, is only a placeholder and stays in the text.
        """
        return text.replace(self._key, "[key]") if len(self._key) > len("none") else text
