"""A model client behind the reply cache: each reply is requested once and stored before it is used."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from evaluator.errors import BashboardError
from evaluator.judges.panel.api_types import RequestRefusedError, StoppedError
from evaluator.judges.panel.budget import Budget, BudgetSpentError
from evaluator.judges.panel.client import ModelClient, ModelReply
from evaluator.judges.panel.reply_cache import Reply, ReplyCache, ReplyKey
from evaluator.judges.panel.settings import Embeddings, PanelModel, PanelSettings

Send = Callable[[ModelClient], Awaitable[ModelReply]]


class NoReplyError(BashboardError):
    """No reply to a question is available. The message tells why."""


class CachedClient:
    """The reply cache in front of the servers. Without a `key`, it sends no request.

    `stopped` is the reason why it sends no more requests, or empty. `failed` is true if this reason is not the budget.
    """

    def __init__(
        self,
        settings: PanelSettings,
        reply_cache: ReplyCache,
        budget: Budget,
        key: str | None,
        embeddings_key: str | None,
    ) -> None:
        self._settings, self._reply_cache, self._budget = settings, reply_cache, budget
        self._key, self._embeddings_key = key, embeddings_key
        self._clients: dict[str, ModelClient] = {}
        self._waiting: dict[ReplyKey, asyncio.Future[Reply]] = {}
        self.stopped = ""
        self.failed = False

    @property
    def is_open(self) -> bool:
        """Return whether the client may request a reply that the cache lacks."""
        return self._key is not None and not self.stopped

    async def chat(self, key: ReplyKey, model: PanelModel, messages: list[dict[str, str]]) -> Reply:
        """Return a model's reply to a chat. Raises NoReplyError."""
        return await self._reply(
            key, self._settings.base_url, self._key, lambda client: client.chat(model, messages, key.seed)
        )

    async def embed(self, key: ReplyKey, embeddings: Embeddings, text: str) -> Reply:
        """Return the embedding of a text. Raises NoReplyError."""
        url, own_key = self._settings.base_url, self._key
        if embeddings.base_url is not None:
            url, own_key = embeddings.base_url, self._embeddings_key or "none"
        return await self._reply(key, url, own_key, lambda client: client.embed(embeddings.model, text))

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()

    def _client(self, url: str, key: str) -> ModelClient:
        if url not in self._clients:
            self._clients[url] = ModelClient(self._settings, url, key, self._budget)
        return self._clients[url]

    async def _reply(self, key: ReplyKey, url: str, own_key: str | None, send: Send) -> Reply:
        """Return the cached reply, or request one. If the same request is already in progress, wait for it."""
        known = self._reply_cache.find(key)
        if known is not None:
            return known
        if not self.is_open or own_key is None:
            raise NoReplyError(self.stopped or "the panel was not asked")
        if key in self._waiting:
            return await asyncio.shield(self._waiting[key])
        return await self._buy(key, send(self._client(url, own_key)))

    async def _buy(self, key: ReplyKey, answer: Awaitable[ModelReply]) -> Reply:
        future = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            reply = _as_reply(key, await answer)
            self._reply_cache.add(reply)
            future.set_result(reply)
            return reply
        except (StoppedError, BudgetSpentError, RequestRefusedError) as error:
            self._note(error)
            missing = NoReplyError(str(error))
            future.set_exception(missing)
            future.exception()  # marks the error as retrieved, because no task may be waiting
            raise missing from error
        finally:
            future.cancel()  # has no effect on a finished future
            self._waiting.pop(key, None)

    def _note(self, error: BashboardError) -> None:
        if not isinstance(error, RequestRefusedError):
            self.stopped = self.stopped or str(error)
            self.failed = self.failed or isinstance(error, StoppedError)


def _as_reply(key: ReplyKey, answer: ModelReply) -> Reply:
    return Reply(
        format=1,
        evidence=key.evidence,
        judge=key.judge,
        model=key.model,
        prompt=key.prompt,
        seed=key.seed,
        text=answer.text,
        plain=answer.plain,
        finish=answer.finish,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        usd=answer.usd,
    )
