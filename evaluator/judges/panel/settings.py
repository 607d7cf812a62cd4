"""What a project says of its panel: which models, where, how many votes, what they cost.

The key is never here: it comes from the environment, so that no file, log or ledger can hold it.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field

from evaluator.records import Record, ShortText

KEY_VARIABLE: Final = "BASHBOARD_PANEL_KEY"
"""Environment variable with the endpoint's key. A name of ours, because to set it is to agree to pay."""

EMBEDDINGS_KEY_VARIABLE: Final = "BASHBOARD_EMBEDDINGS_KEY"
"""The key of an endpoint for embeddings that is not the panel's; a local server often asks for none."""


def _endpoint(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#@]*)?", value):
        raise ValueError("expected http(s)://host/path without a user, query or fragment, such as https://host/v1")
    return value.rstrip("/")


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError(f"expected an odd number of votes, found {value}")
    return value


def _different(models: tuple[PanelModel, ...]) -> tuple[PanelModel, ...]:
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        raise ValueError("a model stands there twice; it has more votes with a larger `votes`")
    return models


def _model(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


Endpoint = Annotated[str, AfterValidator(_endpoint)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PanelModel(Record):
    """A model by the name its server knows, with its price in US dollars per million tokens where that is known."""

    name: ShortText
    input_usd: Price | None = None
    output_usd: Price | None = None

    @property
    def is_priced(self) -> bool:
        """Whether the cost of a call can be told."""
        return self.input_usd is not None and self.output_usd is not None

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """The cost of so many tokens in US dollars; what has no price counts as free."""
        return ((self.input_usd or 0.0) * input_tokens + (self.output_usd or 0.0) * output_tokens) / 1e6


class Embeddings(Record):
    """The model behind `embed` and `exec-embed`; without an address of its own it is at the panel's."""

    name: ShortText
    base_url: Endpoint | None = None
    input_usd: Price | None = None

    @property
    def model(self) -> PanelModel:
        """The same as a model whose output costs nothing."""
        return PanelModel(name=self.name, input_usd=self.input_usd, output_usd=0.0)


class PanelSettings(Record):
    """`[tool.bashboard.panel]` of pyproject.toml.

    `votes` seats are given to the models in turn; the first round votes with `seed`, each further one with the
    next. `timeout_s` is for one whole request; a request that our side or the server's failed is sent at most
    `attempts` times, at first after about `pause_s`. `reply_tokens` is what one reply may have.
    """

    base_url: Endpoint
    models: Annotated[
        tuple[Annotated[PanelModel, BeforeValidator(_model)], ...], Field(max_length=16), AfterValidator(_different)
    ] = ()
    votes: Annotated[int, Field(ge=1, le=15), AfterValidator(_odd)] = 3
    seed: int = 123
    embeddings: Annotated[Embeddings | None, BeforeValidator(_model)] = None
    concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    attempts: Annotated[int, Field(ge=1, le=20)] = 6
    pause_s: Annotated[float, Field(gt=0, le=60)] = 0.5
    reply_tokens: Annotated[int, Field(ge=16, le=32_768)] = 400
