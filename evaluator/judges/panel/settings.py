"""Define the panel's settings in a project: its models, endpoints, number of votes and prices.

No setting holds the server's key. The key comes from the environment, so that no file, log or cache can contain it.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from evaluator.model_server.client_settings import ClientSettings, Endpoint, Price, PricedModel
from evaluator.records import Record, ShortText

KEY_VARIABLE: Final = "BASHBOARD_PANEL_KEY"
"""Environment variable with the endpoint's key. The name is specific to Bashboard, because setting it agrees to pay."""

EMBEDDINGS_KEY_VARIABLE: Final = "BASHBOARD_EMBEDDINGS_KEY"
"""Environment variable with the key of a separate endpoint for embeddings. A local server often needs no key."""


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError(f"expected an odd number of votes, found {value}")
    return value


def _unique(models: tuple[PricedModel, ...]) -> tuple[PricedModel, ...]:
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        raise ValueError(f"expected different models, found {names}; to give each model more votes, raise `votes`")
    return models


def _model(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


SENTENCE_MODEL: Final = "all-MiniLM-L6-v2"
"""The model that computes embeddings on this machine. See `sentence_model`."""


class Embeddings(Record):
    """The model of the judges `embed` and `exec-embed`. Without a `base_url`, the model uses the panel's endpoint.

    If `local` is true, the model runs on this machine, without a server.
    """

    name: ShortText
    base_url: Endpoint | None = None
    input_usd: Price | None = None
    local: bool = False

    @model_validator(mode="after")
    def _check_local(self) -> Embeddings:
        if self.local and (self.name != SENTENCE_MODEL or self.base_url is not None):
            raise ValueError(f'expected name = "{SENTENCE_MODEL}" and no base_url for a model on this machine')
        return self

    @property
    def model(self) -> PricedModel:
        """Return this embedding model as a `PricedModel` whose output costs nothing."""
        return PricedModel(name=self.name, input_usd=self.input_usd, output_usd=0.0)


class PanelSettings(ClientSettings):
    """The panel's settings, from the table `[tool.bashboard.panel]` of pyproject.toml.

    The models cast `votes` votes in turn. A model's first vote uses `seed`. Each further vote of this model uses a seed
    that is larger by 1.
    """

    base_url: Endpoint | None = None
    models: Annotated[
        tuple[Annotated[PricedModel, BeforeValidator(_model)], ...], Field(max_length=16), AfterValidator(_unique)
    ] = ()
    votes: Annotated[int, Field(ge=1, le=15), AfterValidator(_odd)] = 3
    seed: int = 123
    embeddings: Annotated[Embeddings | None, BeforeValidator(_model)] = None

    @model_validator(mode="after")
    def _check_endpoint(self) -> PanelSettings:
        needs_server = self.embeddings is not None and not self.embeddings.local and self.embeddings.base_url is None
        if self.base_url is None and (self.models or needs_server):
            raise ValueError("expected base_url, the endpoint of the models, such as https://host/v1")
        return self


LOCAL_EMBEDDINGS: Final = Embeddings(name=SENTENCE_MODEL, input_usd=0.0, local=True)
"""The embeddings that this machine computes, if the settings name no others."""
