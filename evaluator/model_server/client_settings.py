"""Define the settings of a client of a model server, and the price of a model.

No setting holds the server's key. The key comes from the environment, so that no file, log or cache can contain it.
"""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from evaluator.records import Record, ShortText


def _endpoint(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#@]*)?", value):
        raise ValueError("expected http(s)://host/path without a user, query or fragment, such as https://host/v1")
    if urlsplit(value).port == 0:  # `port` raises ValueError for other wrong ports
        raise ValueError("expected a port from 1 to 65535")
    return value.rstrip("/")


Endpoint = Annotated[str, AfterValidator(_endpoint)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PricedModel(Record):
    """A model and its prices in US dollars per million tokens. The server knows the model by `name`."""

    name: ShortText
    input_usd: Price | None = None
    output_usd: Price | None = None

    @property
    def is_priced(self) -> bool:
        """True if both prices are known, so that the cost of a call of this model can be computed."""
        return self.input_usd is not None and self.output_usd is not None

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """Return the cost in US dollars of these numbers of tokens. An unknown price counts as 0."""
        return ((self.input_usd or 0.0) * input_tokens + (self.output_usd or 0.0) * output_tokens) / 1e6


class ClientSettings(Record):
    """The settings of a client.

    `concurrency` is the largest number of requests in progress. `timeout_s` limits one whole request. After a network
    or server error, the client sends the request again after a pause, up to `attempts` times in total. The first pause
    is about `pause_s`. `reply_tokens` limits the length of one reply.
    """

    concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    attempts: Annotated[int, Field(ge=1, le=20)] = 6
    pause_s: Annotated[float, Field(gt=0, le=60)] = 0.5
    reply_tokens: Annotated[int, Field(ge=16, le=32_768)] = 400
