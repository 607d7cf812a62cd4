"""Estimate the number and the cost of the panel's calls of models before the panel makes these calls.

A reply that is already in the reply cache costs nothing, so only missing replies count. The number of calls is a
maximum: if the first votes on a question agree, the panel requests no more votes on this question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from evaluator.judges.panel.open_questions import PanelRequest, open_requests, possible_requests
from evaluator.judges.panel.panel import Undecided
from evaluator.judges.panel.reply_cache import Reply, ReplyCache, ReplyKey
from evaluator.judges.panel.settings import PanelSettings

BYTES_PER_TOKEN: Final = 4
"""Approximate value for English text and commands. The billed number of tokens depends on the model."""

REPLY_TOKENS: Final = 60
"""Approximate size of the requested reply: a reason of at most 30 words and a verdict, in JSON."""


class Estimate(NamedTuple):
    """The maximum number of the panel's calls of models, and their approximate cost in US dollars.

    The cost is None if a model's price is unknown.
    """

    calls: int
    usd: float | None


def estimate(settings: PanelSettings, reply_cache: ReplyCache, undecided: Sequence[Undecided]) -> Estimate:
    """Estimate the calls of models that the panel needs for these undecided findings. Count equal questions once."""
    missing: dict[ReplyKey, PanelRequest] = {}
    for item in undecided:
        missing |= {request.key: request for request in open_requests(settings, reply_cache, item, every=True)}
    # cached replies cost nothing, so only models with missing replies need a price
    is_priced = all(request.model.is_priced for request in missing.values())
    return Estimate(len(missing), sum(map(_usd, missing.values())) if is_priced else None)


def _usd(request: PanelRequest) -> float:
    return request.model.usd(-(-request.input_bytes // BYTES_PER_TOKEN), REPLY_TOKENS if request.is_chat else 0)


def replies_to(settings: PanelSettings, reply_cache: ReplyCache, undecided: Sequence[Undecided]) -> tuple[Reply, ...]:
    """Return the cached replies that decide the panel's findings on these undecided cases. Sort the replies by key."""
    replies: dict[ReplyKey, Reply] = {}
    for item in undecided:
        keys = (request.key for request in possible_requests(settings, item))
        replies |= {key: reply for key in keys if (reply := reply_cache.find(key)) is not None}
    return tuple(replies[key] for key in sorted(replies))
