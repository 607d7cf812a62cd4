"""Open connections to a model server with the openai SDK, and receive the bodies of its responses.

A response has a limit of time and of size. The server's key is passed only to the SDK, and removed from the texts of
errors.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from evaluator.model_server.api_types import (
    LostError,
    ModelServerError,
    NoServerError,
    RequestRefusedError,
    StoppedError,
    status_error,
)
from evaluator.wording import excerpt

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MAX_RESPONSE: Final = 1_000_000
"""The largest response in bytes. A reply of 32,768 tokens, the largest number of a client, has about 150,000."""

_LIST_TIMEOUT_S: Final = 5.0
_KEY: Final = re.compile(r"[!-~]+")
"""The keys that fit in a header of a request."""


class ModelConnection:
    """The connections to one endpoint. `key_variable` is the environment variable of the server's key, for messages."""

    def __init__(self, base_url: str, key: str, key_variable: str, timeout_s: float) -> None:
        self._base_url, self._key, self._key_variable = base_url, key.strip(), key_variable
        self._timeout_s = timeout_s
        self._sdk: AsyncOpenAI | None = None

    @property
    def sdk(self) -> AsyncOpenAI:
        """Return the client of the SDK. Raises StoppedError if the key fits in no request."""
        if self._sdk is None:
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Omit

            if not _KEY.fullmatch(self._key):  # the error of the SDK would quote the key
                raise StoppedError(f"{self._key_variable}: expected a key of ASCII characters, without spaces")
            self._sdk = AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._key,
                max_retries=0,  # the client retries, because it knows the budget and the rate limits
                timeout=self._timeout_s,
                default_headers={
                    "Accept-Encoding": "identity",
                    # the SDK would read these from the environment and send them to any server
                    "OpenAI-Organization": Omit(),  # type: ignore[dict-item]
                    "OpenAI-Project": Omit(),  # type: ignore[dict-item]
                },
                http_client=DefaultAsyncHttpxClient(event_hooks={"response": [_read_limited]}),
            )
        return self._sdk

    async def close(self) -> None:
        """Close the connections. A later request opens new ones."""
        if self._sdk is not None:
            sdk, self._sdk = self._sdk, None
            await sdk.close()

    async def receive(self, send: Callable[[], Awaitable[Any]]) -> tuple[bytes, Mapping[str, str]]:
        """Send a request with a function of the SDK. Return the body and headers of a response with status 200.

        Raises StatusError for another status, LostError without a complete response, and RequestRefusedError for a
        response that is too long.
        """
        from openai import APIError, APIStatusError

        try:
            async with asyncio.timeout(self._timeout_s):  # the SDK's timeout restarts with every byte
                response = (await send()).http_response
                return response.content, response.headers
        except TimeoutError:
            raise LostError(f"no complete reply came in {self._timeout_s:g} s") from None
        except APIStatusError as error:
            raise status_error(error) from None
        except APIError as error:
            cause = error.__cause__ or error
            kind = NoServerError if type(cause).__name__ == "ConnectError" else LostError
            raise kind(excerpt(self.without_key(str(cause)))) from None

    async def models(self) -> list[str]:
        """Return the names of the server's models, or nothing if it does not list them."""
        from openai import OpenAIError

        try:
            async with asyncio.timeout(_LIST_TIMEOUT_S):
                return [model.id async for model in self.sdk.models.list()]
        except (OpenAIError, TimeoutError, ModelServerError, ValueError, AttributeError, TypeError):
            return []

    def without_key(self, text: str) -> str:
        """Remove the server's key from an error text, because some servers quote keys.

        A key of at most four characters, such as `none`, is only a placeholder and stays in the text.
        """
        return text.replace(self._key, "[key]") if len(self._key) > len("none") else text


async def _read_limited(response: Any) -> None:
    """Read the body of a response of httpx up to the limit of its size, and put the body in place of the stream.

    A few bytes of a compressed body can become any number of bytes, so such a body is refused.
    """
    body = bytearray()
    async for part in response.stream:
        body += part
        if len(body) > MAX_RESPONSE:
            raise RequestRefusedError(f"the server's reply is longer than {MAX_RESPONSE:,} bytes")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise RequestRefusedError("the server compressed its reply, although the request forbids it")
    await response.stream.aclose()
    response.stream = type(response)(response.status_code, content=bytes(body)).stream
