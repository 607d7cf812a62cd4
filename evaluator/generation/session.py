"""Ask a model through a log: a reply that was received once is never requested again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evaluator.generation.energy_meter import EnergyMeter
from evaluator.generation.task_prompts import Messages
from evaluator.model_server.budget import Budget
from evaluator.model_server.client import ChatRequest, ModelClient
from evaluator.model_server.client_settings import PricedModel
from evaluator.model_server.reply_log import LoggedReply, ReplyLog, request_key
from evaluator.records.generation import Generation

_PARAMETERS: Final = {"temperature", "top_p", "reasoning_effort"}
"""The parameters of decoding that a request names as the recipe does."""


@dataclass(slots=True)
class Session:
    """One run against one server.

    Counts the tokens and the cost of all replies in use, those of the log included. `requested` counts new replies.
    `meter` measures the energy of new replies.
    """

    generation: Generation
    model: PricedModel
    base_url: str
    reply_tokens: int
    log: ReplyLog
    client: ModelClient
    budget: Budget
    meter: EnergyMeter | None = None
    requested: int = 0
    tokens: int = 0
    usd: float = 0.0
    _seen: set[str] = field(default_factory=set)

    def request(self, messages: Messages, number: int, extension: Mapping[str, Any]) -> ChatRequest:
        """Return the request for the reply of a sample. Each sample and each repeated run has a seed of its own."""
        decoding = self.generation.decoding
        parameters: dict[str, Any] = decoding.model_dump(mode="json", include=_PARAMETERS, exclude_none=True)
        if decoding.seed is not None:
            parameters["seed"] = decoding.seed + (self.generation.run - 1) * self.generation.samples + number
        return ChatRequest(self.model, messages, parameters, extension, required=bool(extension))

    async def ask(self, messages: Messages, number: int, extension: Mapping[str, Any]) -> LoggedReply:
        """Return the reply of the log, or request it and write it to the log first.

        Raises the errors of the client.
        """
        request = self.request(messages, number, extension)
        key = request_key(self.base_url, request, self.reply_tokens, (self.generation.run, number))
        logged = self.log.find(key)
        if logged is None:
            reply = await self.client.chat(request)
            logged = self.log.add(key, reply, self.meter.take() if self.meter is not None else None)
            self.requested += 1
        if key not in self._seen:
            self._seen.add(key)
            self.tokens += logged.input_tokens + logged.output_tokens
            self.usd += logged.usd
        return logged
