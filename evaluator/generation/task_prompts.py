"""Write the messages that ask a model for one task's command: the rules, the examples, then the instruction.

The rules and the description of the machine are those of `bashboard submit prompts`, unless a published prompt replaces
them. Examples are earlier turns of the chat, so a model sees the form of an answer as well as its content.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from evaluator.submissions.baselines.training import TrainingPair

Messages = list[dict[str, str]]


class PromptStyle(StrEnum):
    """The form of an instruction: as it is written (an imperative), or in a question with a mark for the answer."""

    IMPERATIVE = "imperative"
    QUESTION = "question"


_QUESTION: Final = "Question: Which Bash command does the following?\n{instruction}\nAnswer:"
_REFUSED: Final = (
    "Bash cannot read this as a command: {error}\nAnswer again with the corrected command alone, and nothing else."
)
_EXECUTED: Final = (
    "The command was executed in an empty scratch system of the same kind, which does not have the files of the task. "
    "Exit status: {status}.\nStandard output:\n{stdout}\nStandard error:\n{stderr}\n"
    "Answer with the final command alone: the same one, or a corrected one."
)
_SHOWN_BYTES: Final = 2000


def user_message(instruction: str, style: PromptStyle) -> str:
    """Return the message with an instruction."""
    return instruction if style is PromptStyle.IMPERATIVE else _QUESTION.format(instruction=instruction)


def task_messages(prompt: Messages, examples: Sequence[TrainingPair], style: PromptStyle) -> Messages:
    """Return the messages of a task. `prompt` is a system message and a user message with the instruction."""
    system, user = prompt
    shots = [
        message
        for pair in examples
        for message in (
            {"role": "user", "content": user_message(pair.nl, style)},
            {"role": "assistant", "content": pair.command},
        )
    ]
    return [system, *shots, {"role": "user", "content": user_message(user["content"], style)}]


def after_refusal(messages: Messages, reply: str, error: str) -> Messages:
    """Return the messages of the next turn after a reply that bash's parser refused."""
    return _next_turn(messages, reply, _REFUSED.format(error=error))


def after_execution(messages: Messages, reply: str, status: int | None, stdout: bytes, stderr: bytes) -> Messages:
    """Return the messages of the next turn after a command was executed. Long output loses its end."""
    shown = {"stdout": _shown(stdout), "stderr": _shown(stderr), "status": "none" if status is None else status}
    return _next_turn(messages, reply, _EXECUTED.format(**shown))


def _shown(output: bytes) -> str:
    if not output:
        return "(nothing)"
    text = output[:_SHOWN_BYTES].decode(errors="backslashreplace")
    return text if len(output) <= _SHOWN_BYTES else f"{text}\n({len(output)} bytes, cut here)"


def _next_turn(messages: Messages, reply: str, text: str) -> Messages:
    return [*messages, {"role": "assistant", "content": reply}, {"role": "user", "content": text}]
