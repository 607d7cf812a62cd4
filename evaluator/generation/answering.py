"""Turn one task's prompt into commands: one chat with the model for each sample.

A chat has one reply, and further ones if the parser refuses a reply, or if the model sees what its command did. The
module sends nothing itself: `ask` and `execute` are given, so that replies can come from a log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from evaluator.generation.grammar import GrammarField, command_of, grammar_fields, is_beginning, keeps_grammar
from evaluator.generation.task_prompts import Messages, after_execution, after_refusal
from evaluator.model_server.reply_log import LoggedReply
from evaluator.records.generation import Generation, GenerationMethod
from evaluator.reply_forms import ReplyBody, Unanswered
from evaluator.submissions.extraction import first_block
from evaluator.submissions.reply_lines import answer_in
from evaluator.submissions.reply_parser import bash_error, parse_reply_text


class GrammarIgnoredError(Exception):
    """The server answered with a reply that the grammar of the request does not allow."""


class Sample(NamedTuple):
    """The result of one chat: the command ("" for none), and the cost of all its replies.

    `latency_s` is the sum of the times of its requests in seconds. `replies` are the keys of the replies in the log.
    `is_uncounted` is true if the server did not count the tokens of one of them. `no_answer` is the reason why there is
    no command, if the last reply has one. `has_fence` is true if the command is a whole text that holds a code block.
    """

    command: str
    input_tokens: int
    output_tokens: int
    latency_s: float
    usd: float
    replies: tuple[str, ...] = ()
    is_uncounted: bool = False
    no_answer: Unanswered | None = None
    has_fence: bool = False


class _ReplyAnswer(NamedTuple):
    """The command of one reply, and the reason why it has none."""

    command: str
    no_answer: Unanswered | None = None


_ASKED_AGAIN: Final = (None, Unanswered.EMPTY)
"""The parser asks again after these replies. Another one would end in the same way."""
_OUTSIDE_GRAMMAR: Final = (Unanswered.REFUSED, Unanswered.BLOCKED, Unanswered.TOOL_CALL)
"""The server ends such a reply whatever the grammar allows."""


class Effect(NamedTuple):
    """What a command did in the scratch world."""

    status: int | None
    stdout: bytes
    stderr: bytes


Ask = Callable[[Messages, int, Mapping[str, Any]], Awaitable[LoggedReply]]
"""Ask the model: the messages, the number of the sample, and the fields of a grammar."""

Place = tuple[str, str]
"""The name of a suite, and the id of one of its tasks."""

Execute = Callable[[Place, str], Awaitable[Effect]]
"""Execute a command for a task in a world that is not the task's."""


class Answering:
    """The methods of a recipe, applied to one sample of one task at a time.

    `utilities` are the programs of the machine on which commands run. `command_bytes` is the maximum size of a command
    in a submission.
    """

    def __init__(
        self,
        generation: Generation,
        ask: Ask,
        utilities: Collection[str],
        command_bytes: int,
        execute: Execute | None = None,
    ) -> None:
        self._generation, self._ask, self._execute = generation, ask, execute
        self._utilities, self._command_bytes = utilities, command_bytes
        self._grammar = GrammarField(generation.grammar) if generation.grammar is not None else None
        self._extension = grammar_fields(self._grammar, sorted(utilities)) if self._grammar is not None else {}

    async def sample(self, place: Place, prompt: Messages, number: int) -> Sample:
        """Return the result of the chat about a task with this number, from 0.

        Raises GrammarIgnoredError if the server does not hold its reply to the grammar, and the errors of the client.
        """
        replies: list[LoggedReply] = []
        answer, messages = await self._command(prompt, number, replies)
        if self._execute is not None:
            for _ in range(self._generation.turns - 1):
                if not answer.command:
                    break
                effect = await self._execute(place, answer.command)
                earlier = answer
                messages = after_execution(messages, replies[-1].text, effect.status, effect.stdout, effect.stderr)
                answer, messages = await self._command(messages, number, replies)
                if answer.no_answer is not None:
                    answer = earlier
                if answer.command == earlier.command:
                    break
        is_whole = self._grammar is None and GenerationMethod.PARSER not in self._generation.methods
        return Sample(
            answer.command,
            sum(reply.input_tokens for reply in replies),
            sum(reply.output_tokens for reply in replies),
            sum(reply.latency_s for reply in replies),
            sum(reply.usd for reply in replies),
            tuple(reply.key for reply in replies),
            any(not reply.input_tokens for reply in replies),  # every prompt has a token
            answer.no_answer,
            is_whole and first_block(answer.command) is not None,
        )

    async def _command(
        self, messages: Messages, number: int, replies: list[LoggedReply]
    ) -> tuple[_ReplyAnswer, Messages]:
        """Return the command of the next reply, and the messages that led to it. The parser may ask once again."""
        answer = await self._reply(messages, number, replies)
        if GenerationMethod.PARSER not in self._generation.methods or answer.no_answer not in _ASKED_AGAIN:
            return answer, messages
        error = await asyncio.to_thread(bash_error, answer.command)
        if error is None:
            return answer, messages
        messages = after_refusal(messages, replies[-1].text, error)
        answer = await self._reply(messages, number, replies)
        is_readable = await asyncio.to_thread(bash_error, answer.command) is None
        return answer if is_readable else _ReplyAnswer("", answer.no_answer or Unanswered.UNREADABLE), messages

    async def _reply(self, messages: Messages, number: int, replies: list[LoggedReply]) -> _ReplyAnswer:
        reply = await self._ask(messages, number, self._extension)
        replies.append(reply)
        reason = Unanswered(reply.finish) if reply.finish in set(Unanswered) else None
        text, no_answer = answer_in(ReplyBody(reply.text, reply.finish, reason))
        if self._grammar is not None and no_answer not in _OUTSIDE_GRAMMAR:
            answer = _held_command(self._grammar, text, no_answer, self._utilities)
        elif no_answer is not None:
            return _ReplyAnswer("", no_answer)
        elif GenerationMethod.PARSER in self._generation.methods:
            answer = _ReplyAnswer(parse_reply_text(reply.text, self._utilities).command)
        else:
            answer = _ReplyAnswer(text)
        return answer._replace(command=_submittable(answer.command, self._command_bytes))


def _held_command(
    grammar: GrammarField, text: str, no_answer: Unanswered | None, utilities: Collection[str]
) -> _ReplyAnswer:
    """Return the command of a reply that was held to a grammar, or none if it was cut off before it is clear."""
    command = command_of(grammar, text)
    if command is not None and keeps_grammar(command, utilities):
        return _ReplyAnswer(command)
    if no_answer in (Unanswered.CUT_OFF, Unanswered.REASONING) and is_beginning(grammar, text, utilities):
        return _ReplyAnswer("", no_answer)
    raise GrammarIgnoredError(text)


def _submittable(command: str, size: int) -> str:
    """Return a command, cut to the size in bytes that a submission may hold, or "" if bash cannot read it.

    Bash reads no NUL. Half of a surrogate pair, which JSON can name by an escape, has no form in UTF-8.
    """
    try:
        encoded = command.encode()
    except UnicodeEncodeError:
        return ""
    return "" if b"\0" in encoded else encoded[:size].decode(errors="ignore")
