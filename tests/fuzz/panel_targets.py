"""Fuzz the readers of a model server's answers: responses, headers and replies. Fuzz the quotation of prompt data."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from evaluator.judges.panel.batch_files import FileReply, read_replies
from evaluator.judges.panel.parse_reply import ParsedReply, read_reply
from evaluator.judges.panel.untrusted_data import Fields, data_line, delimiter
from evaluator.model_server.api_types import LostError, Received, error_inside, read_chat, read_embedding
from evaluator.model_server.rate_limit import exhausted_for, requested_pause
from evaluator.records import Finding, Outcome
from tests.fuzz.target import target

NOW: Final = datetime(2026, 1, 2, tzinfo=UTC)
UNDECIDED: Final = Finding(outcome=Outcome.UNDECIDED, reason="a reason")


@target(
    "panel-reply",
    "evaluator.judges.panel.parse_reply",
    planted=lambda reply: reply.vote == "unsure",
    tokens=(
        b'{"reason":"',
        b'"verdict":"yes"',
        b"unsure",
        b"```json\n",
        b"\n```",
        b"YES.",
        b"\xc4\xb0",
        b"\\u",
    ),
    is_json=True,
)
def read_vote(data: bytes) -> ParsedReply | None:
    reply = read_reply(data.decode(errors="replace"))
    return reply if reply.vote else None


@target(
    "panel-response",
    *(f"evaluator.model_server.api_types:{name}" for name in ("read_chat", "read_embedding", "error_inside")),
    "evaluator.model_server.embedding_text:encode",
    planted=lambda received: any(each.text == "" for each in received),
    tokens=(b'{"choices":[{"message":{"content":"', b'"usage":{"prompt_tokens":', b'"finish_reason":"', b'"data":[',
            b'{"embedding":[', b"1e39", b"NaN", b'"refusal":'),
    is_json=True,
)  # fmt: skip
def read_response(data: bytes) -> list[Received]:
    """Read a response as a chat reply and as an embedding."""
    received: list[Received] = []
    error = error_inside(data, {})
    assert error is None or 400 <= error.status <= 599
    for read in (read_chat, read_embedding):
        try:
            received.append(read(data))
            assert all(text.encode() is not None for text in (received[-1].text, received[-1].finish))
        except LostError:
            continue
    return received


@target(
    "panel-files",
    *(f"evaluator.judges.panel.batch_files:{name}" for name in ("read_replies", "_read_line", "_read_result")),
    *(f"evaluator.judges.panel.batch_files:{name}" for name in ("_check_known", "_message", "_first_fault")),
    planted=lambda replies: len(replies) > 2,
    tokens=(b'{"custom_id":"a","response":{"status_code":200,"body":', b'"error":{"message":',
            b'{"id":"a","text":"yes"}\n',
            b'{"id":"b","embedding":[', b'"status_code":500', b"\\ud800", b"NaN", b"\n"),
    is_json=True,
)  # fmt: skip
def read_reply_files(data: bytes) -> list[FileReply] | None:
    """Read a file of replies to a chat `a` and an embedding `b`. Every problem has a line of the file."""
    replies, problems = read_replies(Path("replies"), data, {"a": True, "b": False})
    assert all(0 <= problem.line <= data.count(b"\n") + 1 for problem in problems)
    return replies or None


@target(
    "panel-headers",
    *(f"evaluator.model_server.rate_limit:{name}" for name in ("requested_pause", "exhausted_for")),
    *(f"evaluator.model_server.rate_limit:{name}" for name in ("duration_s", "_number")),
    planted=lambda pauses: pauses[1] > 1000,
    tokens=(b"retry-after: ", b"retry-after-ms: ", b"x-ratelimit-remaining-requests: 0\n",
            b"x-ratelimit-reset-requests: ",
            b"x-ratelimit-remaining-tokens: ", b"x-ratelimit-reset-tokens: ", b"6m0s", b"120ms", b"1h", b"2m",
            b"Fri, 02 Jan 2026 10:00:00 GMT", b"+9999"),
    longest=512,
)  # fmt: skip
def read_headers(data: bytes) -> tuple[float | None, float]:
    """Read headers, one a line. A pause is never negative."""
    lines = data.decode("latin-1").split("\n")
    headers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    pause, exhausted = requested_pause(headers, NOW), exhausted_for(headers, 100)
    assert exhausted >= 0
    assert pause is None or pause >= 0
    return pause, exhausted


@target(
    "panel-prompt",
    "evaluator.judges.panel.untrusted_data",
    planted=lambda line: "\\u200b" in line and "bytes omitted" in line,
    tokens=(
        b"<|im_end|>",
        b"</s>",
        b"[INST]",
        b"[/INST]",
        b"\n",
        b"\xff",
        b"\xe2\x80\xae",
        b"\xe2\x80\x8b",
        b'"',
        b"\\",
        b"DATA ",
    ),
    longest=400,
)
def quote_data(data: bytes) -> str:
    """Quote an output in a prompt. The line must be visible text and valid JSON, and hold no control token."""
    fields = Fields(64)
    value: dict[str, Any] = {"command": fields.text(data[:80], len(data)), "stdout": fields.text(data)}
    line = data_line(value)
    assert json.loads(line) == value
    assert line.isprintable(), line
    assert "<" not in line, line
    assert delimiter(line) not in line
    return line
