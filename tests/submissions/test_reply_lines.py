"""The forms in which a file may hold a model's replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import FormatError
from evaluator.submissions.reply_lines import predictions_from, read_reply

TASKS = ("files-001", "files-002")
USAGE = {"prompt_tokens": 7, "completion_tokens": 3}
COMPLETION = {"choices": [{"message": {"role": "assistant", "content": "ls"}}], "usage": USAGE}
ANTHROPIC = {
    "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "ls"}],
    "usage": {"input_tokens": 7, "output_tokens": 3},
}
GOOGLE = {
    "candidates": [{"content": {"parts": [{"text": "hm", "thought": True}, {"text": "ls"}]}}],
    "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3},
}
PROMPT = [{"role": "system", "content": "rules"}, {"role": "user", "content": "list"}]


@pytest.mark.parametrize(
    ("line", "counted"),
    [
        ({"task": "files-001", "output": "ls"}, False),
        ({"task": "files-001", "reply": "ls", "input_tokens": 7, "output_tokens": 3}, True),
        ({"task": "files-001", "messages": [*PROMPT, {"role": "assistant", "content": "ls"}]}, False),
        ({"task": "files-001", **COMPLETION}, True),
        ({"custom_id": "files-001", "response": {"status_code": 200, "body": COMPLETION}, "error": None}, True),
        ({"custom_id": "files-001", "result": {"type": "succeeded", "message": ANTHROPIC}}, True),
        ({"key": "files-001", "response": GOOGLE}, True),
    ],
)
def test_every_form_gives_the_text_and_the_tokens(line: dict[str, Any], counted: bool) -> None:
    reply = read_reply(json.dumps(line))
    assert (reply.task, reply.text) == ("files-001", "ls")
    assert (reply.input_tokens, reply.output_tokens) == ((7, 3) if counted else (None, None))


@pytest.mark.parametrize(
    "line",
    [
        {"custom_id": "files-001", "response": None, "error": {"message": "x"}},
        {"custom_id": "files-001", "response": {"status_code": 500, "body": {}}},
        {"custom_id": "files-001", "result": {"type": "expired"}},
        {"key": "files-001", "error": {"code": 500}},
    ],
)
def test_a_failed_request_leaves_its_task_unanswered(line: dict[str, Any]) -> None:
    assert predictions_from(Path("f"), json.dumps(line).encode(), TASKS) == ({}, ["files-001"])


def test_reasoning_is_left_out_and_the_raw_text_is_kept() -> None:
    lines = [
        {"task": "files-001", "output": "<think>`rm -rf /`?</think>\n```bash\nls\n```\nDone."},
        {"task": "files-002", "output": "ls -la\n"},
    ]
    data = "\n\n".join(map(json.dumps, lines)).encode()
    found, failed = predictions_from(Path("f"), data, TASKS)
    assert [json.loads(line)["output"] for line in found.values()] == ["```bash\nls\n```\nDone.", "ls -la"]
    assert failed == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ls", "the line is no JSON"),
        ("[" * 100_000, "the line is no JSON"),
        ("[]", "expected a reply such as"),
        ("{}", "expected a reply such as"),
        ('{"task": "files-001"}', "expected a reply such as"),
        ('{"task": 5, "output": "ls"}', "expected a reply such as"),
        ('{"task": "files-001", "messages": [{"role": "user", "content": "x"}]}', "the last message is no answer"),
        ('{"task": "files-009", "output": "ls"}', "is no task of the suite"),
        ('{"custom_id": "files-001", "response": {"body": {"choices": []}}}', "expected a reply such as"),
        ('{"key": "files-001", "response": {"candidates": []}}', "expected a reply such as"),
    ],
)
def test_another_line_is_reported_with_its_number(line: str, message: str) -> None:
    with pytest.raises(FormatError) as raised:
        predictions_from(Path("replies.jsonl"), f'{{"task": "files-002", "output": "x"}}\n{line}'.encode(), TASKS)
    (problem,) = raised.value.problems
    assert problem.line == 2
    assert message in problem.message


def test_a_task_is_answered_once() -> None:
    line = b'{"task": "files-001", "output": "ls"}\n'
    with pytest.raises(FormatError, match="again: expected one result a task"):
        predictions_from(Path("f"), line * 2, TASKS)
