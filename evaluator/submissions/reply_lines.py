"""Read the replies of a model from a file, and convert them to predictions.

Each line is a JSON object in one of these forms:

    {"task": …, "output": …}                      a plain reply. The text may also be in `reply`, `text` or `content`
    {"task": …, "messages": [… {"role": "assistant", "content": …}]}    a line of `submit prompts` with the answer
    {"task": …, "choices": [{"message": {"content": …}}], "usage": …}   a chat completion of OpenAI with the task
    {"custom_id": …, "response": {"body": …}, "error": …}               a result of OpenAI's batches
    {"custom_id": …, "result": {"type": …, "message": …}}               a result of Anthropic's batches
    {"key": …, "response": {"candidates": …}, "error": …}               a result of Google's batches

The text of a reasoning model before its answer is removed. Unknown fields are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from evaluator.errors import FormatError, Problem
from evaluator.submissions.messages import nearest, quoted
from evaluator.submissions.reply_parser import without_reasoning

_EXPECTED: Final = (
    'expected a reply such as {"task": "<task>", "output": "<text>"}, or a line of a batch\'s results, '
    '{"custom_id": "<task>", "response": {"body": {"choices": …}}}'
)
_TEXT_FIELDS: Final = ("output", "reply", "text", "content")


class ReadReply(NamedTuple):
    """A line: the task, its reply, and the numbers of tokens. The text is None if the request failed."""

    task: str
    text: str | None
    input_tokens: int | None = None
    output_tokens: int | None = None


def predictions_from(path: Path, data: bytes, tasks: Collection[str]) -> tuple[dict[str, str], list[str]]:
    """Convert a file of replies to predictions. Also return the ids of tasks with a failed request.

    A prediction is a line of JSON with the model's reply and the token counts. The predictions are a mapping from task
    to line. Raises FormatError with every invalid line, for example a line with an unknown task.
    """
    lines: dict[str, str] = {}
    failed: list[str] = []
    problems: list[Problem] = []
    for number, text in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        if not text.strip():
            continue
        try:
            reply = read_reply(text)
            _expect_new(reply.task, tasks, {*lines, *failed})
        except ValueError as error:
            problems.append(Problem(path, number, str(error)))
            continue
        if reply.text is None:
            failed.append(reply.task)
        else:
            lines[reply.task] = _prediction(reply, without_reasoning(reply.text).strip())
    if problems:
        raise FormatError(problems)
    return lines, failed


def _expect_new(task: str, tasks: Collection[str], earlier: Collection[str]) -> None:
    if task in earlier:
        raise ValueError(f"task {quoted(task)} again: expected one result a task; keep one of the two")
    if task not in tasks:
        raise ValueError(f"{quoted(task)} is no task of the suite{nearest(task, tasks)}")


def _prediction(reply: ReadReply, text: str) -> str:
    line: Mapping[str, object] = {
        "task": reply.task,
        "output": text,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
    }
    return json.dumps({name: value for name, value in line.items() if value is not None}, ensure_ascii=False)


def read_reply(line: str) -> ReadReply:
    """Read one line. Raises ValueError with the expected forms for any other line."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{_EXPECTED}; the line is no JSON: {error}") from error
    if isinstance(value, dict):
        for read in _FORMS:
            try:
                found = read(value)
            except (KeyError, TypeError, IndexError, AttributeError):
                continue
            if found is not None:
                return found
    raise ValueError(_EXPECTED)


def _plain(value: Mapping[str, Any]) -> ReadReply | None:
    task = value["task"]
    texts = [value[name] for name in _TEXT_FIELDS if isinstance(value.get(name), str)]
    if not isinstance(task, str) or not texts:
        return None
    return ReadReply(task, texts[0], _count(value.get("input_tokens")), _count(value.get("output_tokens")))


def _with_messages(value: Mapping[str, Any]) -> ReadReply | None:
    last = value["messages"][-1]
    if last["role"] != "assistant":
        raise ValueError("the last message is no answer: expected a message with the role assistant")
    return ReadReply(_text(value["task"]), _text(last["content"]))


def _completion(value: Mapping[str, Any]) -> ReadReply | None:
    return _of_completion(_text(value["task"]), value)


def _openai_batch(value: Mapping[str, Any]) -> ReadReply | None:
    task = _text(value["custom_id"])
    response = value["response"] if "response" in value else value["error"]
    if value.get("error") is not None or response is None or response.get("status_code", 200) != 200:
        return ReadReply(task, None)
    return _of_completion(task, response["body"])


def _anthropic_batch(value: Mapping[str, Any]) -> ReadReply | None:
    task, result = _text(value["custom_id"]), value["result"]
    if result["type"] != "succeeded":
        return ReadReply(task, None)
    message = result["message"]
    text = "".join(part["text"] for part in message["content"] if part["type"] == "text")
    usage = message.get("usage") or {}
    return ReadReply(task, text, _count(usage.get("input_tokens")), _count(usage.get("output_tokens")))


def _google_batch(value: Mapping[str, Any]) -> ReadReply | None:
    task = _text(value["key"])
    if value.get("error") is not None:
        return ReadReply(task, None)
    response = value["response"]
    parts = response["candidates"][0]["content"]["parts"]
    text = "".join(part["text"] for part in parts if not part.get("thought"))
    usage = response.get("usageMetadata") or {}
    counts = _count(usage.get("promptTokenCount")), _count(usage.get("candidatesTokenCount"))
    return ReadReply(task, text, *counts)


_FORMS: Final[tuple[Callable[[Mapping[str, Any]], ReadReply | None], ...]] = (
    *(_plain, _with_messages, _completion),
    *(_openai_batch, _anthropic_batch, _google_batch),
)


def _of_completion(task: str, body: Mapping[str, Any]) -> ReadReply:
    content = body["choices"][0]["message"].get("content") or ""
    usage = body.get("usage") or {}
    counts = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    return ReadReply(task, _text(content), *counts)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("expected a text")
    return value


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
