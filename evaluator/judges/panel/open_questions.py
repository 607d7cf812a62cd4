"""List the requests that decide undecided findings: those that the panel may send, and those that wait for a reply.

The id of a request follows from the question, the model and the seed alone. So requests about the same findings have
the same ids at any time and on any machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evaluator.judges.panel.panel import Undecided
from evaluator.judges.panel.parse_reply import ReplyForm, Vote, read_reply
from evaluator.judges.panel.prompt import Question
from evaluator.judges.panel.published_prompts import PublishedPrompts, questions_of
from evaluator.judges.panel.reply_cache import ReplyCache, ReplyKey
from evaluator.judges.panel.settings import PanelSettings
from evaluator.judges.panel.similarity import EMBEDDING, texts_of
from evaluator.judges.panel.vote import CastVote, is_settled, majority
from evaluator.judges.panel.voters import is_own, voters_for
from evaluator.model_server.client_settings import PricedModel
from evaluator.records import digest_of


class PanelRequest(NamedTuple):
    """A request to a model: the chat messages of a question, or a text for an embedding."""

    key: ReplyKey
    model: PricedModel
    content: list[dict[str, str]] | str
    form: ReplyForm = ReplyForm.VERDICT

    @property
    def id(self) -> str:
        """Return the id of this request in a file."""
        return self.key.request_id

    @property
    def is_chat(self) -> bool:
        """Return whether the reply is a text. If not, it is an embedding."""
        return not isinstance(self.content, str)

    @property
    def input_bytes(self) -> int:
        """Return the number of bytes that the model reads."""
        if isinstance(self.content, str):
            return len(self.content.encode())
        return sum(len(message["content"].encode()) for message in self.content)


def possible_requests(
    settings: PanelSettings, item: Undecided, prompts: PublishedPrompts | None = None
) -> Iterator[PanelRequest]:
    """Yield every request that the panel may send about an undecided finding. Some of them may prove unnecessary."""
    if item.judge in EMBEDDING:
        yield from _embeddings(settings, item)
        return
    for question in questions_of(prompts, item.judge, item.case, item.finding, item.evidence):
        yield from _votes(settings, item, question)


def open_requests(
    settings: PanelSettings,
    reply_cache: ReplyCache,
    item: Undecided,
    *,
    every: bool = False,
    prompts: PublishedPrompts | None = None,
) -> Iterator[PanelRequest]:
    """Yield the requests without a reply that a panel would send now, in the order of its requests.

    A model on this machine needs no request. A panel sends some requests only after it has the replies to others. If
    `every` is true, yield these requests too, although the replies to others may make them unnecessary.
    """
    if item.judge in EMBEDDING:
        if settings.embeddings is not None and not settings.embeddings.local:
            yield from (request for request in _embeddings(settings, item) if reply_cache.find(request.key) is None)
        return
    for question in questions_of(prompts, item.judge, item.case, item.finding, item.evidence):
        votes = list(_votes(settings, item, question))
        if every:
            yield from _missing_votes(reply_cache, votes)
        elif waiting := list(_next_votes(reply_cache, votes)):
            yield from waiting
            return
        elif question.whole and majority(_cast(reply_cache, votes), len(votes)) is Vote.YES:
            return


def _missing_votes(reply_cache: ReplyCache, votes: Sequence[PanelRequest]) -> Iterator[PanelRequest]:
    if not is_settled(_cast(reply_cache, votes), len(votes)):
        yield from (vote for vote in votes if reply_cache.find(vote.key) is None)


def _next_votes(reply_cache: ReplyCache, votes: Sequence[PanelRequest]) -> Iterator[PanelRequest]:
    """Yield the missing votes among the first that a majority needs, or else the next vote of an unsettled question."""
    needed = len(votes) // 2 + 1
    missing = [vote for vote in votes[:needed] if reply_cache.find(vote.key) is None]
    if missing:
        yield from missing
        return
    for number in range(needed, len(votes)):
        if is_settled(_cast(reply_cache, votes[:number]), len(votes)):
            return
        if reply_cache.find(votes[number].key) is None:
            yield votes[number]
            return


def _cast(reply_cache: ReplyCache, votes: Sequence[PanelRequest]) -> list[CastVote]:
    replies = ((vote, reply_cache.find(vote.key)) for vote in votes)
    return [CastVote(read_reply(reply.text, vote.form).vote, "") for vote, reply in replies if reply is not None]


def _votes(settings: PanelSettings, item: Undecided, question: Question) -> Iterator[PanelRequest]:
    for voter in voters_for(settings, item.own):
        key = ReplyKey(question.evidence, question.judge, voter.model.name, question.prompt, voter.seed)
        yield PanelRequest(key, voter.model, question.messages, question.form)


def _embeddings(settings: PanelSettings, item: Undecided) -> Iterator[PanelRequest]:
    embeddings, candidate = settings.embeddings, item.case.candidate
    if embeddings is None or candidate is None or is_own(embeddings.name, item.own):
        return
    for text in texts_of(item.judge, item.case, candidate):
        digest = digest_of(text.encode())
        yield PanelRequest(ReplyKey(digest, "embed", embeddings.name, digest, settings.seed), embeddings.model, text)
