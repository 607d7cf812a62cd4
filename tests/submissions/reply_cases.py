"""What a line of a file of replies, or a reply, is taken for. `site/generate.md` shows this table."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any, Final, NamedTuple

from evaluator.reply_forms import Unanswered

TASK: Final = "files-001"
COUNTS: Final = {"prompt_tokens": 7, "completion_tokens": 3}


class ReplyCase(NamedTuple):
    """A line: its group and description for the page, its value, and the text or the reason why there is none."""

    group: str
    description: str
    line: dict[str, Any]
    taken: str | Unanswered


def chat(content: object = None, finish: str = "stop", usage: object = COUNTS, **message: Any) -> dict[str, Any]:
    """Return a chat completion."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}


def batch(body: object, status: int = 200, error: object = None) -> dict[str, Any]:
    """Return a line of the results of OpenAI's batches."""
    return {"custom_id": TASK, "response": {"status_code": status, "body": body}, "error": error}


def response(*output: dict[str, Any], status: str = "completed", **fields: Any) -> dict[str, Any]:
    """Return a response of OpenAI's API of that name."""
    return {"object": "response", "status": status, "output": [*output], **fields}


def said(*parts: dict[str, Any]) -> dict[str, Any]:
    """Return an item of a response with a message."""
    return {"type": "message", "role": "assistant", "content": [*parts]}


def anthropic(*content: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    """Return a line of the results of Anthropic's batches."""
    message = {"type": "message", "role": "assistant", "content": [*content], "stop_reason": stop}
    usage = {"input_tokens": 7, "output_tokens": 3}
    return {"custom_id": TASK, "result": {"type": "succeeded", "message": {**message, "usage": usage}}}


def google(*parts: dict[str, Any], finish: str = "STOP", **fields: Any) -> dict[str, Any]:
    """Return a line of the results of Google's batches."""
    candidates = [{"content": {"role": "model", "parts": [*parts]}, "finishReason": finish}]
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 3}
    return {"key": TASK, "response": {"candidates": candidates, "usageMetadata": usage, **fields}}


def plain(text: object, **fields: Any) -> dict[str, Any]:
    """Return a plain line."""
    return {"task": TASK, "output": text, **fields}


TEXT: Final = {"type": "text", "text": "ls"}
OUTPUT_TEXT: Final = {"type": "output_text", "text": "ls"}
HIDDEN: Final = {"type": "thinking", "thinking": "hm"}
REASONED: Final = {"type": "reasoning", "summary": []}
CALL: Final = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
PROMPT: Final = [{"role": "system", "content": "rules"}, {"role": "user", "content": "list"}]
REFUSAL: Final = "I can't help with that."

_ANSWERS: Final = (
    ReplyCase("plain lines", '`{"task": …, "output": …}`', plain("ls"), "ls"),
    ReplyCase(
        "plain lines", "the text in `reply`, `text`, `content` or `response`", {"task": TASK, "text": "ls"}, "ls"
    ),
    ReplyCase("plain lines", "the text as parts", {"task": TASK, "content": [TEXT]}, "ls"),
    ReplyCase(
        "plain lines",
        "a line of `submit prompts` with the answer",
        {"task": TASK, "messages": [*PROMPT, {"role": "assistant", "content": "ls"}]},
        "ls",
    ),
    ReplyCase("plain lines", "an empty text or null", plain(None), Unanswered.EMPTY),
    ReplyCase(
        "plain lines",
        "`finish_reason` or `stop_reason` that says it was cut off",
        plain("find . -na", finish_reason="length"),
        Unanswered.CUT_OFF,
    ),
    ReplyCase("plain lines", "a text with NUL or half a character", plain("echo \ud83d"), Unanswered.BROKEN),
    ReplyCase("chat completions", "`choices` with a text", {"task": TASK, **chat("ls")}, "ls"),
    ReplyCase("chat completions", "content as parts", {"task": TASK, **chat([HIDDEN, TEXT])}, "ls"),
    ReplyCase(
        "chat completions",
        "`choices` with `text`, as of `/v1/completions`",
        {"task": TASK, "choices": [{"text": "ls", "finish_reason": "stop"}]},
        "ls",
    ),
    ReplyCase(
        "chat completions",
        "tokens that are null or -1",
        {"task": TASK, **chat("ls", usage={"prompt_tokens": None, "completion_tokens": -1})},
        "ls",
    ),
    ReplyCase("chat completions", "`finish_reason: length`", batch(chat("find . -na", "length")), Unanswered.CUT_OFF),
    ReplyCase(
        "chat completions",
        "the same after a closed code block",
        batch(chat("```bash\nls\n```\nThis li", "length")),
        "```bash\nls\n```\nThis li",
    ),
    ReplyCase(
        "chat completions",
        "the same with half a character behind the block",
        batch(chat("```bash\nls\n```\n\ud83d", "length")),
        Unanswered.BROKEN,
    ),
    ReplyCase(
        "chat completions",
        "the same after a fence inside a here-document without an end",
        batch(chat("```bash\ncat > f <<'EOF'\n```\nls\n```\nEO", "length")),
        Unanswered.CUT_OFF,
    ),
    ReplyCase(
        "chat completions",
        "no content at the limit of tokens",
        batch(chat(None, "length", reasoning_content="hm")),
        Unanswered.REASONING,
    ),
    ReplyCase(
        "chat completions",
        "`content: null` with reasoning",
        batch(chat(None, reasoning_content="hm")),
        Unanswered.REASONING,
    ),
    ReplyCase(
        "chat completions",
        "`content: null` with `tool_calls`",
        batch(chat(None, "tool_calls", tool_calls=[CALL])),
        Unanswered.TOOL_CALL,
    ),
    ReplyCase("chat completions", "`refusal`", batch(chat(None, refusal=REFUSAL)), Unanswered.REFUSED),
    ReplyCase(
        "chat completions", "`finish_reason: content_filter`", batch(chat("", "content_filter")), Unanswered.BLOCKED
    ),
    ReplyCase(
        "chat completions",
        "`refusal` beside a content",
        batch(chat("I can't", refusal=REFUSAL)),
        Unanswered.REFUSED,
    ),
    ReplyCase("chat completions", "no choices", {"task": TASK, "choices": None}, Unanswered.EMPTY),
    ReplyCase(
        "chat completions",
        "`native_finish_reason` of a gateway alone",
        {
            "task": TASK,
            "choices": [
                {"message": {"content": "find . -na"}, "finish_reason": None, "native_finish_reason": "MAX_TOKENS"}
            ],
        },
        Unanswered.CUT_OFF,
    ),
    ReplyCase("OpenAI's batches", "a result with a chat completion", batch(chat("ls")), "ls"),
    ReplyCase(
        "OpenAI's batches",
        "an error that says the content was filtered",
        batch({"error": {"code": "content_filter"}}, 400),
        Unanswered.BLOCKED,
    ),
    ReplyCase(
        "OpenAI's batches",
        "an error, or a status other than 200",
        batch({"error": {"message": "x"}}, 429),
        Unanswered.FAILED,
    ),
    ReplyCase("OpenAI's responses", "`output` with a message", batch(response(REASONED, said(OUTPUT_TEXT))), "ls"),
    ReplyCase(
        "OpenAI's responses",
        "`status: incomplete`",
        batch(
            response(
                said({"type": "output_text", "text": "find . -na"}),
                status="incomplete",
                incomplete_details={"reason": "max_output_tokens"},
            )
        ),
        Unanswered.CUT_OFF,
    ),
    ReplyCase(
        "OpenAI's responses",
        "the same without a message",
        batch(response(REASONED, status="incomplete", incomplete_details={"reason": "max_output_tokens"})),
        Unanswered.REASONING,
    ),
    ReplyCase(
        "OpenAI's responses",
        "a part `refusal`",
        batch(response(said({"type": "refusal", "refusal": REFUSAL}))),
        Unanswered.REFUSED,
    ),
    ReplyCase(
        "OpenAI's responses",
        "an item `function_call`",
        batch(response({"type": "function_call", "name": "bash"})),
        Unanswered.TOOL_CALL,
    ),
    ReplyCase(
        "OpenAI's responses",
        "`status: failed`",
        batch(response(status="failed", error={"message": "x"})),
        Unanswered.FAILED,
    ),
    ReplyCase(
        "OpenAI's responses",
        "several messages, of which the last is the answer",
        batch(response(said({"type": "output_text", "text": "I list."}), said(OUTPUT_TEXT))),
        "ls",
    ),
    ReplyCase(
        "OpenAI's responses",
        "a message with `status: incomplete`",
        batch(response({**said({"type": "output_text", "text": "find . -na"}), "status": "incomplete"})),
        Unanswered.CUT_OFF,
    ),
    ReplyCase("Anthropic", "a result `succeeded`", anthropic(HIDDEN, TEXT), "ls"),
    ReplyCase(
        "Anthropic",
        "`stop_reason: pause_turn`",
        anthropic({"type": "text", "text": "I search"}, stop="pause_turn"),
        Unanswered.CUT_OFF,
    ),
    ReplyCase(
        "Anthropic",
        "`stop_reason: max_tokens`",
        anthropic({"type": "text", "text": "find . -na"}, stop="max_tokens"),
        Unanswered.CUT_OFF,
    ),
    ReplyCase(
        "Anthropic",
        "`stop_reason: refusal`",
        anthropic({"type": "text", "text": REFUSAL}, stop="refusal"),
        Unanswered.REFUSED,
    ),
    ReplyCase(
        "Anthropic",
        "`stop_reason: tool_use`",
        anthropic(
            {"type": "text", "text": "I run it."}, {"type": "tool_use", "name": "bash", "input": {}}, stop="tool_use"
        ),
        Unanswered.TOOL_CALL,
    ),
    ReplyCase(
        "Anthropic",
        "a result `errored`, `canceled` or `expired`",
        {"custom_id": TASK, "result": {"type": "expired"}},
        Unanswered.FAILED,
    ),
    ReplyCase("Google", "`candidates` with parts", google({"text": "hm", "thought": True}, {"text": "ls"}), "ls"),
    ReplyCase(
        "Google", "`finishReason: MAX_TOKENS`", google({"text": "find . -na"}, finish="MAX_TOKENS"), Unanswered.CUT_OFF
    ),
    ReplyCase(
        "Google",
        "the same as its library writes it: a number or `FinishReason.MAX_TOKENS`",
        {"key": TASK, "response": {"candidates": [{"content": {"parts": [{"text": "find"}]}, "finish_reason": 2}]}},
        Unanswered.CUT_OFF,
    ),
    ReplyCase("Google", "`finishReason: SAFETY` or of that kind", google(finish="SAFETY"), Unanswered.BLOCKED),
    ReplyCase(
        "Google",
        "`promptFeedback.blockReason`",
        {"key": TASK, "response": {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}},
        Unanswered.BLOCKED,
    ),
    ReplyCase("Google", "a part `functionCall`", google({"functionCall": {"name": "bash"}}), Unanswered.TOOL_CALL),
    ReplyCase("Google", "an error", {"key": TASK, "error": {"code": 500, "message": "x"}}, Unanswered.FAILED),
    ReplyCase(
        "Google",
        "a `status` with an empty response",
        {"key": TASK, "status": "Bad Request", "request": {}, "response": {}},
        Unanswered.FAILED,
    ),
    ReplyCase(
        "Amazon",
        "`modelOutput` of a batch",
        {"recordId": TASK, "modelOutput": {"type": "message", "content": [TEXT], "stop_reason": "end_turn"}},
        "ls",
    ),
    ReplyCase("Amazon", "an error of a batch", {"recordId": TASK, "error": {"errorMessage": "x"}}, Unanswered.FAILED),
    ReplyCase(
        "llama.cpp and Ollama",
        "`content` of `/completion`",
        {"task": TASK, "content": "ls", "stop": True, "tokens_predicted": 3, "tokens_evaluated": 7},
        "ls",
    ),
    ReplyCase(
        "llama.cpp and Ollama",
        "`stop_type: limit`",
        {"task": TASK, "content": "find . -na", "stop": True, "stop_type": "limit"},
        Unanswered.CUT_OFF,
    ),
    ReplyCase(
        "llama.cpp and Ollama",
        "`message` with `done_reason: length`",
        {
            "task": TASK,
            "message": {"role": "assistant", "content": "find . -na"},
            "done": True,
            "done_reason": "length",
        },
        Unanswered.CUT_OFF,
    ),
    ReplyCase(
        "llama.cpp and Ollama",
        "`done: false`, a part of a stream",
        {"task": TASK, "response": "find . -na", "done": False},
        Unanswered.CUT_OFF,
    ),
)

HARMONY: Final = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>ls<|return|>"
_TEXTS: Final = (
    ("`<think>…</think>` at the start", "<think>`rm`?</think>\n\nls", "ls"),
    ("a fenced draft inside of it", "<think>\n```bash\nrm -rf x\n```\n</think>\n```bash\nls\n```", "```bash\nls\n```"),
    ("`</think>` alone, as the template holds the opening mark", "I list.</think>\n\nls", "ls"),
    ("`[THINK]…[/THINK]` and other marks", "[THINK]hm[/THINK]ls", "ls"),
    (
        "the format harmony",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>ls<|return|>",
        "ls",
    ),
    ("a mark inside code", "grep -c '</think>' log.txt", "grep -c '</think>' log.txt"),
    ("a mark inside code after reasoning", "<think>a</think>find . -name '</think>'", "find . -name '</think>'"),
    ("the same mark in the text of the reasoning too", "Remove '</think>'? Let's.\n</think>\n\nls", "ls"),
    ("the text of `ollama run`", "Thinking...\nI list.\n...done thinking.\n\nls", "ls"),
    ("`<think>` without an end", "<think>I could use `ls`", Unanswered.REASONING),
    ("a call of a tool as text", '<tool_call>\n{"name": "bash"}\n</tool_call>', Unanswered.TOOL_CALL),
    (
        "a call of a tool in the format harmony",
        '<|channel|>commentary to=functions.bash<|message|>{"command": "ls"}<|call|>',
        Unanswered.TOOL_CALL,
    ),
)

REPLY_CASES: Final = (*_ANSWERS, *(ReplyCase("reasoning", name, plain(text), taken) for name, text, taken in _TEXTS))


def page_rows() -> str:
    """Return the rows of the table of `site/generate.md`. A row in bold names the group of the rows below it."""
    rows = []
    for group, cases in itertools.groupby(REPLY_CASES, lambda case: case.group):
        rows.append(f"| **{group}** | |")
        for case in cases:
            taken = case.taken
            result = f"unanswered, {taken.words}" if isinstance(taken, Unanswered) else f"answer {_code(taken)}"
            rows.append(f"| {case.description} | {result.replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def _code(text: str) -> str:
    """Return a text as code of Markdown, with escapes for line ends. It may hold backquotes."""
    mark = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{mark} {json.dumps(text)[1:-1]} {mark}" if "`" in text else f"`{json.dumps(text)[1:-1]}`"
