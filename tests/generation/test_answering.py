"""One chat about a task does not hold up the others."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from evaluator.generation.answering import Answering, Sample
from evaluator.generation.task_prompts import Messages
from evaluator.model_server.reply_log import LoggedReply
from evaluator.pipeline.generation.recipe import recipe_of

SLOW: Final = f"a=({'$(b) ' * 150_000})"
"""A command that bash reads in half a second or more."""


async def reply(messages: Messages, number: int, extension: Mapping[str, Any]) -> LoggedReply:
    return LoggedReply(
        key="0" * 64, text=SLOW, finish="stop", plain=True, input_tokens=1, output_tokens=1, usd=0, latency_s=0
    )


def test_other_chats_go_on_while_bash_reads_a_command() -> None:
    async def beside() -> tuple[Sample, int]:
        answering = Answering(recipe_of("a-model", ["parser"]), reply, ["ls"], len(SLOW))
        chat = asyncio.create_task(answering.sample(("tiny", "files-1"), [], 0))
        moments = 0
        while not chat.done():
            await asyncio.sleep(0.01)
            moments += 1
        return await chat, moments

    sample, moments = asyncio.run(beside())
    assert sample.command == SLOW
    assert moments > 5
