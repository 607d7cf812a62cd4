"""Ask the model servers only for replies that are not in the reply cache. Store each new reply before its use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from evaluator.errors import BashboardError
from evaluator.judges.panel.reply_cache import Reply, ReplyCache, ReplyKey
from evaluator.judges.panel.settings import KEY_VARIABLE, Embeddings, PanelSettings
from evaluator.judges.panel.vote_request import FORMAT, vote_parameters
from evaluator.model_server.api_types import RequestRefusedError, StoppedError
from evaluator.model_server.budget import Budget, BudgetSpentError
from evaluator.model_server.client import ChatRequest, ModelClient, ModelReply
from evaluator.model_server.client_settings import PricedModel
from evaluator.model_server.embedding_text import encode

Send = Callable[[ModelClient], Awaitable[ModelReply]]


class NoReplyError(BashboardError):
    """The error for a question to which no reply of a model is available. The message gives the reason."""


class CachedClient:
    """A client that looks in the reply cache before it asks a server. Without a `key`, the client sends no request.

    If `computes` is true, the client computes embeddings on this machine when the settings say so.

    `stopped` is the reason why the client no longer sends requests, or empty if it may still send them. `failed` is
    true if the client has stopped for a reason other than a spent budget.
    """

    def __init__(
        self,
        settings: PanelSettings,
        reply_cache: ReplyCache,
        budget: Budget,
        key: str | None,
        embeddings_key: str | None,
        *,
        computes: bool = False,
    ) -> None:
        self._settings, self._reply_cache, self._budget = settings, reply_cache, budget
        self._key, self._embeddings_key = key, embeddings_key
        self.computes = computes and settings.embeddings is not None and settings.embeddings.local
        self._clients: dict[str, ModelClient] = {}
        self._in_progress: dict[ReplyKey, asyncio.Future[Reply]] = {}
        self.stopped = ""
        self.failed = False

    @property
    def is_open(self) -> bool:
        """Return whether the client may still send requests for replies that are not in the cache."""
        return self._key is not None and not self.stopped

    async def chat(
        self, key: ReplyKey, model: PricedModel, messages: list[dict[str, str]], *, plain: bool = False
    ) -> Reply:
        """Return a model's reply to a chat. Raises NoReplyError if no reply is available."""
        return await self._reply(
            key,
            self._settings.base_url or "",
            self._key,
            lambda client: client.chat(
                ChatRequest(model, messages, vote_parameters(key.seed), {} if plain else FORMAT)
            ),
        )

    async def embed(self, key: ReplyKey, embeddings: Embeddings, text: str) -> Reply:
        """Return the embedding of a text. Raises NoReplyError if no reply is available."""
        if embeddings.local:
            return await self._computed(key, text)
        url, endpoint_key = self._settings.base_url or "", self._key
        if embeddings.base_url is not None:
            url, endpoint_key = embeddings.base_url, self._embeddings_key or "none"
        return await self._reply(key, url, endpoint_key, lambda client: client.embed(embeddings.model, text))

    async def close(self) -> None:
        """Close all connections to the servers."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()

    def _client(self, url: str, key: str) -> ModelClient:
        if url not in self._clients:
            self._clients[url] = ModelClient(self._settings, url, key, self._budget, KEY_VARIABLE)
        return self._clients[url]

    async def _reply(self, key: ReplyKey, url: str, endpoint_key: str | None, send: Send) -> Reply:
        """Return the cached reply for `key`, or request it.

        If a request for this key is in progress, wait for its reply.
        """
        known = self._reply_cache.find(key)
        if known is not None:
            return known
        if not self.is_open or endpoint_key is None:
            raise NoReplyError(self.stopped or "the panel was not asked")
        if key in self._in_progress:
            return await asyncio.shield(self._in_progress[key])
        return await self._request(key, send(self._client(url, endpoint_key)))

    async def _computed(self, key: ReplyKey, text: str) -> Reply:
        """Return the cached embedding for `key`, or compute it on this machine."""
        known = self._reply_cache.find(key)
        if known is not None:
            return known
        if not self.computes:
            raise NoReplyError("embeddings were not computed")
        if key in self._in_progress:
            return await asyncio.shield(self._in_progress[key])
        return await self._request(key, asyncio.to_thread(_compute, text))

    async def _request(self, key: ReplyKey, answer: Awaitable[ModelReply]) -> Reply:
        future = self._in_progress[key] = asyncio.get_running_loop().create_future()
        try:
            received = (await answer)._asdict()
            del received["latency_s"]  # a cached reply is the same however long it took
            reply = Reply(format=1, **key._asdict(), **received)
            self._reply_cache.add(reply)
            future.set_result(reply)
            return reply
        except (StoppedError, BudgetSpentError, RequestRefusedError) as error:
            if not isinstance(error, RequestRefusedError):
                self.stopped = self.stopped or str(error)
                self.failed = self.failed or isinstance(error, StoppedError)
            missing = NoReplyError(str(error))
            future.set_exception(missing)
            future.exception()  # marks the error as retrieved, because no task may be waiting
            raise missing from error
        finally:
            future.cancel()  # has no effect on a finished future
            self._in_progress.pop(key, None)


def _compute(text: str) -> ModelReply:
    from evaluator.judges.panel.sentence_model import sentence_embedding

    return ModelReply(
        encode(sentence_embedding(text)), "", plain=True, input_tokens=0, output_tokens=0, usd=0.0, latency_s=0.0
    )
