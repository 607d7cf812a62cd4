"""Read the reply of a model from the JSON that a server or a batch returns, in the form of any of these APIs.

    OpenAI's chat completions, also of vLLM and llama.cpp    {"choices": [{"message": …, "finish_reason": …}], …}
    completions of a text, also of vLLM                      {"choices": [{"text": …, "finish_reason": …}], …}
    OpenAI's responses                                       {"output": [{"type": "message", …}], "status": …, …}
    Anthropic's messages                                     {"content": [{"type": "text", …}], "stop_reason": …, …}
    Google's Gemini                                          {"candidates": [{"content": {"parts": …}, …}], …}
    the completions of llama.cpp                             {"content": "…", "stop_type": …, …}
    Ollama                                                   {"message": {"content": …}, "done_reason": …}

A reply without an answer has a reason of `Unanswered`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from evaluator.wording import pluralize


class Unanswered(StrEnum):
    """The reason why a reply holds no answer. The values are finish reasons of OpenAI's API where it has one."""

    CUT_OFF = "length"
    REASONING = "reasoning"
    EMPTY = "empty"
    REFUSED = "refusal"
    BLOCKED = "content_filter"
    TOOL_CALL = "tool_calls"
    BROKEN = "broken"
    UNREADABLE = "unreadable"
    FAILED = "error"

    @property
    def words(self) -> str:
        """Return the reason in words, for messages."""
        return _WORDS[self][0]

    @property
    def remedy(self) -> str:
        """Return the option or the change that may help, or ""."""
        return _WORDS[self][1]


MODERATION: Final = re.compile(r"content.?(filter|policy|management)|moderat|safety|(prompt|input) was flagged", re.I)
"""The words with which servers refuse the content of a request (Azure, OpenRouter, OpenAI)."""
_MOST_NAMES: Final = 10
_WORDS: Final = {
    Unanswered.CUT_OFF: (
        "cut off at the limit of tokens",
        "raise the limit (--reply-tokens, or the batch's max_tokens)",
    ),
    Unanswered.REASONING: (
        "reasoning without an answer",
        "raise the limit of tokens (--reply-tokens), or let the model reason less (--reasoning-effort low)",
    ),
    Unanswered.EMPTY: ("empty", ""),
    Unanswered.REFUSED: ("refused by the model", ""),
    Unanswered.BLOCKED: ("blocked by the server's rules", ""),
    Unanswered.TOOL_CALL: ("a call of a tool instead of a text", "offer the model no tools"),
    Unanswered.BROKEN: ("with NUL or half a character", ""),
    Unanswered.UNREADABLE: ("no command that bash can read, in two replies", ""),
    Unanswered.FAILED: ("failed requests", "send these requests again"),
}


def unanswered_lines(unanswered: Mapping[str, Unanswered]) -> list[str]:
    """Return one line for each reason, with the number and the names of its tasks and with what may help."""
    lines: list[str] = []
    for reason in Unanswered:
        tasks = [task for task, each in unanswered.items() if each is reason]
        if tasks:
            more = f" and {len(tasks) - _MOST_NAMES} more" if len(tasks) > _MOST_NAMES else ""
            remedy = f"; {reason.remedy}" if reason.remedy else ""
            number = pluralize(len(tasks), "task")
            lines.append(f"{number} unanswered, {reason.words}: {', '.join(tasks[:_MOST_NAMES])}{more}{remedy}")
    return lines


class ReplyBody(NamedTuple):
    """A reply: its text, the server's reason for its end, the reason why it is no answer, and numbers of tokens.

    The text of a refusal is kept. A number of tokens is None if the server did not count.
    """

    text: str
    finish: str = ""
    no_answer: Unanswered | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


_FINISHES: Final = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "limit", "model_length"), Unanswered.CUT_OFF),
    **dict.fromkeys(("model_context_window_exceeded", "error_limit"), Unanswered.CUT_OFF),
    **dict.fromkeys(("incomplete", "pause_turn"), Unanswered.CUT_OFF),
    "refusal": Unanswered.REFUSED,
    **dict.fromkeys(("content_filter", "content_filtered", "safety", "recitation", "blocklist"), Unanswered.BLOCKED),
    **dict.fromkeys(("prohibited_content", "spii", "language", "image_safety", "guardrail"), Unanswered.BLOCKED),
    **dict.fromkeys(("guardrail_intervened", "error_toxic"), Unanswered.BLOCKED),
    **dict.fromkeys(("error", "failed", "cancelled", "canceled", "abort", "aborted"), Unanswered.FAILED),
    **dict.fromkeys(("insufficient_system_resource", "other", "in_progress", "queued"), Unanswered.FAILED),
    **dict.fromkeys(("tool_calls", "tool_use", "tool_call", "function_call"), Unanswered.TOOL_CALL),
    **dict.fromkeys(("malformed_function_call", "unexpected_tool_call"), Unanswered.TOOL_CALL),
}
"""The reasons of servers for the end of a reply, in lower case."""
_GOOGLE_FINISHES: Final = ("", "stop", "max_tokens", "safety", "recitation", "other", "blocklist", "prohibited_content")
"""The reasons of Google in the order of their numbers, which its library for Python writes."""
_CALLS: Final = ("tool_calls", "function_call", "functionCall", "toolUse")
_REASONING: Final = ("reasoning_content", "reasoning", "reasoning_details", "thinking")
_TEXT_PARTS: Final = frozenset({"text", "output_text", "input_text"})


def read_body(body: Mapping[str, Any]) -> ReplyBody | None:
    """Return the reply in a response, or None if the response has none of the known forms."""
    for read in (_completion, _response, _gemini, _message):
        try:
            reply = read(body)
        except (KeyError, TypeError, IndexError, AttributeError):
            continue
        if reply is not None:
            return reply
    return None


def reply_of(
    content: object, finish: object, counts: tuple[int | None, int | None] = (None, None), **message: Any
) -> ReplyBody:
    """Return the reply with a content, which is a text, a list of parts or None.

    `finish` is the server's reason for its end. `message` are the other fields of the message: calls of tools, a
    refusal and reasoning.
    """
    text, found = _text_of(content)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        text, found = text or refusal, {*found, Unanswered.REFUSED}
    reason = _FINISHES.get(str(finish or "").lower().rpartition(".")[2])  # "FinishReason.MAX_TOKENS"
    if any(message.get(name) for name in _CALLS):
        found.add(Unanswered.TOOL_CALL)
    has_reasoning = Unanswered.REASONING in found or any(message.get(name) for name in _REASONING)
    no_answer: Unanswered | None = None
    if reason in (Unanswered.REFUSED, Unanswered.BLOCKED, Unanswered.FAILED):
        no_answer = reason
    elif Unanswered.REFUSED in found:
        no_answer = Unanswered.REFUSED
    elif reason is Unanswered.CUT_OFF:
        no_answer = Unanswered.CUT_OFF if text.strip() else Unanswered.REASONING
    elif reason is Unanswered.TOOL_CALL or (Unanswered.TOOL_CALL in found and not text.strip()):
        no_answer = Unanswered.TOOL_CALL
    elif not text.strip():
        no_answer = Unanswered.REASONING if has_reasoning else Unanswered.EMPTY
    return ReplyBody(text, str(finish or ""), no_answer, *counts)


def _completion(body: Mapping[str, Any]) -> ReplyBody | None:
    """Read a completion of a chat or of a text. vLLM calls the choices of its own objects `outputs`."""
    choices = body["choices"] if "choices" in body else body["outputs"]
    choice = choices[0]
    if choice.get("error"):
        return ReplyBody("", "error", Unanswered.FAILED)
    message = choice["message"] if "message" in choice else {"content": choice["text"]}
    rest = {name: value for name, value in message.items() if name != "content"}
    finish = _first(choice, "finish_reason", "native_finish_reason")
    return reply_of(message.get("content"), finish, _counts(body), **rest)


def _response(body: Mapping[str, Any]) -> ReplyBody | None:
    """Read a response of OpenAI's API of that name, or of Amazon's `converse`."""
    output = body["output"]
    if isinstance(output, Mapping):
        return reply_of(output["message"]["content"], body.get("stopReason"), _counts(body))
    if not isinstance(output, list):
        return None
    kinds = [item["type"] for item in output]
    if not any(kind in ("message", "reasoning") or kind.endswith("_call") for kind in kinds) and "status" not in body:
        return None
    messages = [item for item in output if item["type"] == "message"]
    parts = messages[-1]["content"] if messages else []  # the messages before the last comment on the work
    finish = body.get("status")
    if finish == "completed" and messages:
        finish = messages[-1].get("status")
    if finish == "incomplete":
        finish = (body.get("incomplete_details") or {}).get("reason") or finish
    calls = [kind for kind in kinds if kind.endswith("_call")]
    return reply_of(parts, finish, _counts(body), tool_calls=calls, reasoning="reasoning" in kinds)


def _gemini(body: Mapping[str, Any]) -> ReplyBody | None:
    candidates = body.get("candidates")
    feedback = body.get("promptFeedback") or body.get("prompt_feedback")
    if not candidates:
        reason = feedback.get("blockReason") or feedback.get("block_reason") if feedback else None
        return ReplyBody("", str(reason), Unanswered.BLOCKED, *_counts(body)) if reason else None
    candidate = candidates[0]
    if not candidate.keys() & {"content", "finishReason", "finish_reason"}:
        return None
    finish = candidate.get("finishReason") or candidate.get("finish_reason")
    if isinstance(finish, int) and finish < len(_GOOGLE_FINISHES):
        finish = _GOOGLE_FINISHES[finish]
    parts = (candidate.get("content") or {}).get("parts") or []
    return reply_of(parts, finish, _counts(body))


def _message(body: Mapping[str, Any]) -> ReplyBody | None:
    """Read a message of Anthropic, llama.cpp's own completion, or a chat of Ollama or Cohere."""
    message = body.get("message", body)
    finish = finish_of(body)
    is_known = finish is not None or isinstance(message["content"], list) or "message" in body or "stop" in body
    rest = {name: value for name, value in message.items() if name not in ("content", "stop_reason", "finish_reason")}
    return reply_of(message["content"], finish, _counts(body), **rest) if is_known else None


def finish_of(fields: Mapping[str, Any]) -> Any:
    """Return the server's reason for the end of a reply, or None without one. A part of a stream is cut off."""
    details = fields.get("details")  # of a text-generation-inference server
    for each in (fields, details if isinstance(details, Mapping) else {}):
        finish = _first(each, "stop_reason", "done_reason", "finish_reason", "stop_type")
        if finish is not None:
            return finish
    return "limit" if fields.get("stopped_limit") or fields.get("done") is False else None


def _text_of(content: object) -> tuple[str, set[Unanswered]]:
    """Return the text of a content, and what its other parts are. Raises TypeError for another kind of content."""
    if content is None or isinstance(content, str):
        return content or "", set()
    if not isinstance(content, list):
        raise TypeError("expected a text or parts")
    texts: list[str] = []
    refusals: list[str] = []
    found: set[Unanswered] = set()
    for part in content:
        if isinstance(part, str) and len(content) == 1:
            texts.append(part)
        elif part.get("type", "text") in _TEXT_PARTS and not part.get("thought") and "text" in part:
            text = part["text"]
            texts.append(text.get("value", "") if isinstance(text, Mapping) else text or "")
        elif part.get("type") == "refusal":
            refusals.append(str(part.get("refusal") or ""))
        elif part.get("type") == "tool_use" or any(part.get(name) for name in _CALLS):
            found.add(Unanswered.TOOL_CALL)
        elif part.get("thought") or part.get("type") in ("thinking", "reasoning", "redacted_thinking"):
            found.add(Unanswered.REASONING)
    if refusals:
        found.add(Unanswered.REFUSED)
    return "".join(texts) or "".join(refusals), found


def _counts(body: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the numbers of tokens of the input and of the output. A server may send null or -1 for no number."""
    usage = _first(body, "usage", "usageMetadata", "usage_metadata")
    fields = usage if isinstance(usage, Mapping) else body
    return (
        token_count(_first(fields, *_INPUT_COUNTS)),
        token_count(_first(fields, *_OUTPUT_COUNTS)),
    )


_INPUT_COUNTS: Final = (
    *("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_token_count", "inputTokens"),
    *("tokens_evaluated", "prompt_eval_count"),
)
_OUTPUT_COUNTS: Final = (
    *("completion_tokens", "output_tokens", "candidatesTokenCount", "candidates_token_count", "outputTokens"),
    *("tokens_predicted", "eval_count"),
)
_MOST_TOKENS: Final = 1_000_000_000
"""No model has a context of this number of tokens. A server that counts more is wrong."""


def token_count(value: object) -> int | None:
    """Return a number of tokens, or None for a value that is none."""
    is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if is_number else None  # type: ignore[return-value]


def _first(fields: Mapping[str, Any], *names: str) -> Any:
    values: Sequence[Any] = [fields[name] for name in names if fields.get(name) is not None]
    return values[0] if values else None
