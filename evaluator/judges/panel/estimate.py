"""Estimate the number and the cost of the panel's calls of models before the panel makes these calls.

A reply that is already in the reply cache costs nothing, so only missing replies count. The number of calls is a
maximum: if the first votes on a question agree, the panel requests no more votes on this question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from evaluator.judges.panel.panel import Undecided
from evaluator.judges.panel.parse_reply import read_reply
from evaluator.judges.panel.prompt import Question, questions
from evaluator.judges.panel.reply_cache import Reply, ReplyCache, ReplyKey
from evaluator.judges.panel.settings import PanelModel, PanelSettings
from evaluator.judges.panel.similarity import EMBEDDING, texts_of
from evaluator.judges.panel.vote import CastVote, is_settled
from evaluator.judges.panel.voters import Voter, is_own, voters_for
from evaluator.records import digest_of

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


class _PlannedCall(NamedTuple):
    model: PanelModel
    size: int
    reply_tokens: int

    @property
    def usd(self) -> float:
        return self.model.usd(-(-self.size // BYTES_PER_TOKEN), self.reply_tokens)


def estimate(settings: PanelSettings, reply_cache: ReplyCache, undecided: Sequence[Undecided]) -> Estimate:
    """Estimate the calls of models that the panel needs for these undecided findings. Count equal questions once."""
    calls: dict[ReplyKey, _PlannedCall] = {}
    for item in undecided:
        calls.update(_embeddings(settings, item) if item.judge in EMBEDDING else _votes(settings, reply_cache, item))
    missing = [call for key, call in calls.items() if reply_cache.find(key) is None]
    # cached replies cost nothing, so only models with missing replies need a price
    is_priced = all(call.model.is_priced for call in missing)
    return Estimate(len(missing), sum(call.usd for call in missing) if is_priced else None)


def replies_to(settings: PanelSettings, reply_cache: ReplyCache, undecided: Sequence[Undecided]) -> tuple[Reply, ...]:
    """Return the cached replies that decide the panel's findings on these undecided cases. Sort the replies by key."""
    replies: dict[ReplyKey, Reply] = {}
    for item in undecided:
        if item.judge in EMBEDDING:
            keys = [key for key, _ in _embeddings(settings, item)]
        else:
            asked_questions = questions(item.judge, item.case, item.finding, item.evidence)
            keys = [_key(question, voter) for question in asked_questions for voter in voters_for(settings, item.own)]
        replies |= {key: reply for key in keys if (reply := reply_cache.find(key)) is not None}
    return tuple(replies[key] for key in sorted(replies))


def _votes(
    settings: PanelSettings, reply_cache: ReplyCache, item: Undecided
) -> Iterator[tuple[ReplyKey, _PlannedCall]]:
    voters = voters_for(settings, item.own)
    for question in questions(item.judge, item.case, item.finding, item.evidence):
        keys = {_key(question, voter): voter for voter in voters}
        cached = [reply for key in keys if (reply := reply_cache.find(key)) is not None]
        if is_settled([CastVote(read_reply(reply.text).vote, "") for reply in cached], len(voters)):
            continue
        input_bytes = sum(len(message["content"].encode()) for message in question.messages)
        yield from ((key, _PlannedCall(voter.model, input_bytes, REPLY_TOKENS)) for key, voter in keys.items())


def _key(question: Question, voter: Voter) -> ReplyKey:
    return ReplyKey(question.evidence, question.judge, voter.model.name, question.prompt, voter.seed)


def _embeddings(settings: PanelSettings, item: Undecided) -> Iterator[tuple[ReplyKey, _PlannedCall]]:
    embeddings, candidate = settings.embeddings, item.case.candidate
    if embeddings is None or candidate is None or is_own(embeddings.name, item.own):
        return
    for text in texts_of(item.judge, item.case, candidate):
        digest = digest_of(text.encode())
        yield (
            ReplyKey(digest, "embed", embeddings.name, digest, settings.seed),
            _PlannedCall(embeddings.model, len(text.encode()), 0),
        )
