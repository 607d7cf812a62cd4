"""Read the replies of a model from a file, and convert them to predictions.

Each line is a JSON object with the task and the reply in one of these forms:

    {"task": …, "output": …}                      a plain reply. The text may also be in `reply`, `text` or `content`
    {"task": …, "messages": [… {"role": "assistant", "content": …}]}    a line of `submit prompts` with the answer
    {"task": …, "choices": …}                     a response of a server (see `evaluator.reply_forms`) with the task
    {"custom_id": …, "response": {"body": …}, "error": …}               a result of OpenAI's batches
    {"custom_id": …, "result": {"type": …, "message": …}}               a result of Anthropic's batches
    {"recordId": …, "modelOutput": …, "error": …}                       a result of Amazon's batches
    {"key": …, "response": {"candidates": …}, "error": …}               a result of Google's batches

The text of a reasoning model before its answer is removed. Unknown fields are ignored. A file may hold failed requests
and their retries, in any order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from evaluator.json_lines import (
    MOST_PROBLEMS,
    NESTING,
    REPEATED,
    ForeignFileError,
    LineProblems,
    decoded,
    numbered_lines,
    read_json,
)
from evaluator.reply_forms import MODERATION, ReplyBody, Unanswered, finish_of, read_body, reply_of, token_count
from evaluator.submissions.extraction import has_closed_block, without_reasoning
from evaluator.submissions.messages import nearest, quoted

MOST_BYTES: Final = 64 << 20
"""The maximum size of a line in bytes. A longer one is cut, and is a problem then."""
_EXPECTED: Final = (
    'expected a reply such as {"task": "<task>", "output": "<text>"}, or a line of a batch\'s results, '
    '{"custom_id": "<task>", "response": {"body": {"choices": …}}}'
)
_NAMES: Final = ("task", "custom_id", "key", "recordId")
_TEXT_FIELDS: Final = ("output", "reply", "text", "content", "response", "completion", "generated_text", "prediction")
_CALL: Final = re.compile(
    r"<tool_call>|<function_calls>|<function=|<invoke |\[TOOL_CALLS\]|<\|(?:python_tag|tool_call)|<｜tool▁calls",
    re.IGNORECASE,
)
"""The beginning of a text that calls a tool: Qwen, Anthropic, Llama, Mistral, DeepSeek."""
_HARMONY_CALL: Final = re.compile(r"<\|channel\|>commentary[^<]* to=")


class CollectedReplies(NamedTuple):
    """The replies of a file: the prediction of each answered task, and why the other tasks have no answer."""

    lines: Mapping[str, str]
    unanswered: Mapping[str, Unanswered]


def collect_predictions(path: Path, lines: bytes | Iterable[bytes], tasks: Collection[str]) -> CollectedReplies:
    """Convert a file of replies to predictions. `path` is its name in messages.

    A prediction is a line of JSON with the model's reply and the token counts. At most one line of the file and the
    predictions are in memory. Raises FormatError with the problems of the file, for example a line with an unknown task
    or a second answer to a task.
    """
    found: dict[str, str] = {}
    unanswered: dict[str, Unanswered] = {}
    problems, known = LineProblems(path), frozenset(tasks)
    try:
        for number, line in numbered_lines(lines):
            if not line.strip():
                continue
            problems.lines += 1
            try:
                task, body = read_reply(line)
                if task not in known:
                    near = nearest(task, tasks) if problems.count < MOST_PROBLEMS else ""
                    raise ValueError(f"{quoted(task)} is no task of the suite{near}")
                text, reason = answer_in(body)
                if reason is not None:
                    unanswered[task] = reason
                    continue
                if task in found:
                    raise ValueError(f"task {quoted(task)} again: expected one result a task; keep one of the two")
                found[task] = _prediction(task, text, body)
            except ValueError as error:
                problems.add(number, str(error))
        if not problems.lines:
            problems.add(0, "the file is empty: expected one reply a line")
    except ForeignFileError as error:
        problems.add(0, str(error))
    problems.raise_any()
    return CollectedReplies(found, {task: reason for task, reason in unanswered.items() if task not in found})


def answer_in(body: ReplyBody) -> tuple[str, Unanswered | None]:
    """Return the text of a reply after its reasoning, and the reason why it is no answer, or None if it is one.

    A reply that was cut off is an answer if its first code block is closed.
    """
    answer = without_reasoning(body.text)
    text = (answer or "").strip()
    if body.no_answer is Unanswered.CUT_OFF and has_closed_block(text):
        return text, Unanswered.BROKEN if _is_broken(text) else None
    if body.no_answer is Unanswered.CUT_OFF and not text:
        return "", Unanswered.REASONING
    if body.no_answer is not None:
        return text, body.no_answer
    if _CALL.match(text) or (not text and _HARMONY_CALL.search(body.text)):
        return text, Unanswered.TOOL_CALL
    if not text:
        return "", Unanswered.REASONING if body.text.strip() else Unanswered.EMPTY
    return text, Unanswered.BROKEN if _is_broken(text) else None


def _is_broken(text: str) -> bool:
    """Return whether a text has no form in UTF-8, or a NUL, which bash cannot read."""
    try:
        return b"\0" in text.encode()
    except UnicodeEncodeError:
        return True


def _prediction(task: str, text: str, body: ReplyBody) -> str:
    counts = {"input_tokens": body.input_tokens, "output_tokens": body.output_tokens}
    line = {"task": task, "output": text, **{name: count for name, count in counts.items() if count is not None}}
    return json.dumps(line, ensure_ascii=False)


def read_reply(line: bytes) -> tuple[str, ReplyBody]:
    """Return the task and the reply of one line. Raises ValueError with the expected forms for any other line."""
    value, faults = read_json(decoded(line), NESTING)
    for fault in faults:
        if fault.startswith(REPEATED):
            raise ValueError(fault)
    if isinstance(value, dict):
        task = next((value[name] for name in _NAMES if isinstance(value.get(name), str)), None)
        try:
            body = None if task is None else _body(value)
        except (KeyError, TypeError, IndexError, AttributeError):
            body = None
        if task is not None and body is not None:
            return task, body
    raise ValueError(_EXPECTED + _hint(value))


def _hint(value: object) -> str:
    """Return what an object of another form is or how to get the replies out of it, or ""."""
    if not isinstance(value, dict):
        return ""
    if "candidates" in value:
        return "; this is a line of a submission, which belongs in its folder as it is"
    if str(value.get("object")).endswith(".chunk"):
        return "; this is a part of a stream: send the requests without stream"
    if not {"body", "params", "request"}.isdisjoint(value):
        return "; this is a request, not its result"
    lists = [name for name, items in value.items() if isinstance(items, list) and len(items) > 1]
    return f"; for one object a line: jq -c '.{lists[0]}[]' FILE" if len(lists) == 1 and lists[0].isidentifier() else ""


def _body(value: Mapping[str, Any]) -> ReplyBody | None:
    """Return the reply of a line, or None for another form. A failed request is a reply without an answer."""
    if value.get("error"):
        return _failed(value["error"])
    if "result" in value:
        result = value["result"]
        return _server_reply(result["message"]) if result["type"] == "succeeded" else _failed(result)
    if "modelOutput" in value:
        return _server_reply(value["modelOutput"])
    if "response" in value and not isinstance(value["response"], str):
        response = value["response"]
        if not response or str(response.get("status_code", 200)) != "200":
            return _failed(response or value.get("status"))
        return _server_reply(response.get("body", response))
    if "messages" in value:
        return _last_message(value["messages"][-1])
    if "custom_id" in value and "error" in value and len(value) == 2:
        return _failed(None)
    return _server_reply(value) or _plain(value)


def _server_reply(body: Mapping[str, Any]) -> ReplyBody | None:
    """Return the reply in a server's response. A response may also have an error, or a list without a reply."""
    if body.get("error"):
        return _failed(body["error"])
    if any(name in body and not body[name] for name in ("choices", "candidates")) and "output" not in body:
        return read_body(body) or ReplyBody("", "", Unanswered.EMPTY)
    return read_body(body)


def _failed(error: object) -> ReplyBody:
    """Return the reply of a failed request. `error` says why it failed."""
    is_blocked = MODERATION.search(json.dumps(error)) is not None
    return ReplyBody("", "error", Unanswered.BLOCKED if is_blocked else Unanswered.FAILED)


def _last_message(message: Mapping[str, Any]) -> ReplyBody:
    if message["role"] not in ("assistant", "model"):
        raise ValueError("the last message is no answer: expected a message with the role assistant")
    rest = {name: field for name, field in message.items() if name not in ("content", "role")}
    return reply_of(message.get("content"), message.get("finish_reason"), **rest)


def _plain(value: Mapping[str, Any]) -> ReplyBody | None:
    name = next((name for name in _TEXT_FIELDS if name in value and isinstance(value[name], str | list | None)), None)
    if name is None:
        return None
    rest = {each: field for each, field in value.items() if each in ("refusal", "tool_calls", "reasoning_content")}
    counts = token_count(value.get("input_tokens")), token_count(value.get("output_tokens"))
    return reply_of(value[name], finish_of(value), counts, **rest)
