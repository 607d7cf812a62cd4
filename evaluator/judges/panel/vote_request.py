"""Build the request for one vote of a model, with a JSON schema of the reply if the server supports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from evaluator.judges.panel.parse_reply import SCHEMA

FORMAT: Final[Mapping[str, Any]] = {
    "response_format": {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}
}
"""The fields of a request that make the reply fit the schema."""


def vote_parameters(seed: int) -> dict[str, Any]:
    """Return the parameters of a vote. The temperature 0 and the seed make replies as repeatable as a server allows."""
    return {"temperature": 0, "seed": seed}


def vote_request(
    model: str, messages: Sequence[Mapping[str, str]], seed: int, reply_tokens: int, *, plain: bool
) -> dict[str, Any]:
    """Return the complete body of a request for one vote. If `plain` is true, omit the JSON schema of the reply."""
    body = {"model": model, "messages": list(messages), **vote_parameters(seed), "max_tokens": reply_tokens}
    return body if plain else {**body, **FORMAT}
