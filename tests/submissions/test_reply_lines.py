"""The forms in which a file may hold a model's replies."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from evaluator.errors import FormatError
from evaluator.reply_forms import Unanswered, unanswered_lines
from evaluator.submissions.reply_lines import CollectedReplies, collect_predictions, read_reply
from tests.submissions.reply_cases import (
    REFUSAL,
    REPLY_CASES,
    TASK,
    ReplyCase,
    anthropic,
    batch,
    chat,
    google,
    page_rows,
    plain,
    response,
    said,
)

TASKS: Final = ("files-001", "files-002")
PAGE: Final = Path(__file__).parents[2] / "site" / "generate.md"


def collected(*lines: Mapping[str, Any]) -> CollectedReplies:
    data = "\n".join(map(json.dumps, lines)).encode()
    return collect_predictions(Path("f"), data, TASKS)


@pytest.mark.parametrize("case", REPLY_CASES, ids=lambda case: f"{case.group}: {case.description}")
def test_every_form_is_taken_for_what_it_is(case: ReplyCase) -> None:
    found = collected(case.line)
    if isinstance(case.taken, Unanswered):
        assert found == ({}, {TASK: case.taken})
    else:
        assert found.unanswered == {}
        assert json.loads(found.lines[TASK])["output"] == case.taken


def test_the_page_shows_the_table() -> None:
    """To write it again, put the rows of `page_rows` below the head of the table."""
    (table,) = re.findall(r"\| reply \| taken for \|\n\|[- |]+\|\n((?:\|.*\n)+)", PAGE.read_text("utf-8"))
    assert table.rstrip("\n") == page_rows()


@pytest.mark.parametrize(
    "line",
    [
        batch(chat("ls")),
        {"task": TASK, **chat("ls")},
        anthropic({"type": "text", "text": "ls"}),
        google({"text": "ls"}),
        {"task": TASK, "reply": "ls", "input_tokens": 7, "output_tokens": 3},
        batch(response(said({"type": "output_text", "text": "ls"}), usage={"input_tokens": 7, "output_tokens": 3})),
        {"task": TASK, "content": "ls", "stop": True, "tokens_predicted": 3, "tokens_evaluated": 7},
    ],
)
def test_tokens_are_counted_in_every_form(line: Mapping[str, Any]) -> None:
    body = read_reply(json.dumps(line).encode())[1]
    assert (body.text, body.input_tokens, body.output_tokens) == ("ls", 7, 3)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "completion_tokens": -1}, {"prompt_tokens": "7"}])
def test_tokens_that_are_no_number_are_not_counted(usage: object) -> None:
    line = json.loads(collected(batch(chat("ls", usage=usage))).lines[TASK])
    assert line == {"task": TASK, "output": "ls"}


@pytest.mark.parametrize("reason", ["length", "MAX_TOKENS", "max_output_tokens", "model_length", "Limit"])
def test_every_word_for_the_limit_is_known(reason: str) -> None:
    assert collected(plain("find . -na", stop_reason=reason)).unanswered == {TASK: Unanswered.CUT_OFF}


def test_the_text_of_a_refusal_is_no_answer_but_stays_readable() -> None:
    assert read_reply(json.dumps(batch(chat(None, refusal=REFUSAL))).encode())[1].text == REFUSAL
    assert collected(batch(chat("ls", refusal=""))).unanswered == {}


RETRIES: Final = (
    batch(chat("find . -na", "length")),
    batch(None, error={"code": "batch_expired"}),
    batch({"error": {"message": "busy"}}, 503),
    plain(""),
    google(finish="SAFETY") | {"key": TASK},
)


@pytest.mark.parametrize("failure", RETRIES)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_success_counts_before_and_after_a_failure(failure: Mapping[str, Any], *, is_first: bool) -> None:
    success = batch(chat("ls"))
    found = collected(*((success, failure) if is_first else (failure, success)))
    assert json.loads(found.lines[TASK])["output"] == "ls"
    assert found.unanswered == {}


def test_of_several_failures_the_last_is_named() -> None:
    assert collected(*RETRIES[:3], RETRIES[0]).unanswered == {TASK: Unanswered.CUT_OFF}


def test_reasoning_is_left_out_and_the_raw_text_is_kept() -> None:
    lines = [plain("<think>`rm -rf /`?</think>\n```bash\nls\n```\nDone."), {"task": TASKS[1], "output": "ls -la\n"}]
    found = collected(*lines)
    assert [json.loads(line)["output"] for line in found.lines.values()] == ["```bash\nls\n```\nDone.", "ls -la"]


EXPECTED: Final = "expected a reply such as"
BROKEN_LINES: Final = {
    "a command": ("ls", "broken JSON at column 1"),
    "deep nesting": ('{"a":' * 100_000, "nested more than 100 deep"),
    "a broken escape": ('{"task": "files-001", "output": "\\d"}', "write one backslash as two"),
    "an array": ("[]", EXPECTED),
    "no field": ("{}", EXPECTED),
    "no text": ('{"task": "files-001"}', EXPECTED),
    "a number as the task": ('{"task": 5, "output": "ls"}', EXPECTED),
    "two texts": ('{"task": "files-001", "output": "rm x", "output": "ls"}', "more than once in one object: 'output'"),
    "a number as the text": ('{"task": "files-001", "output": 5}', EXPECTED),
    "no answer": (
        '{"task": "files-001", "messages": [{"role": "user", "content": "x"}]}',
        "the last message is no answer",
    ),
    "another task": ('{"task": "files-009", "output": "ls"}', "is no task of the suite; did you mean"),
    "a list of texts": ('{"task": "files-001", "output": ["ls", "ls -a"]}', EXPECTED),
    "a line of a submission": (
        '{"task": "files-001", "candidates": [{"command": "ls"}]}',
        "this is a line of a submission",
    ),
    "a request": ('{"custom_id": "files-001", "method": "POST", "body": {}}', "this is a request, not its result"),
    "a part of a stream": (
        '{"task": "files-001", "object": "chat.completion.chunk", "choices": [{"delta": {"content": "ls"}}]}',
        "send the requests without stream",
    ),
    "all replies in one": ('{"data": [{"task": "files-001"}, {"task": "files-002"}]}', "jq -c '.data[]' FILE"),
    "a second answer": ('{"task": "files-002", "output": "y"}', "again: expected one result a task"),
    "the same answer again": ('{"task": "files-002", "output": "x"}', "again: expected one result a task"),
}


@pytest.mark.parametrize("case", BROKEN_LINES)
def test_another_line_is_reported_with_its_number(case: str) -> None:
    line, message = BROKEN_LINES[case]
    data = f'{{"task": "files-002", "output": "x"}}\n\n{line}\n'.encode()
    with pytest.raises(FormatError) as raised:
        collect_predictions(Path("replies.jsonl"), data, TASKS)
    (problem,) = raised.value.problems
    assert problem.line == 3
    assert message in problem.message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b'[{"task": "files-001", "output": "ls"}]', "jq -c '.[]' FILE"),
        (b"\x1f\x8b\x08", "gunzip"),
        ('{"task": "files-001"}\n'.encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
    ],
)
def test_another_file_is_named_once(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as raised:
        collect_predictions(Path("replies.jsonl"), data, TASKS)
    (problem,) = raised.value.problems
    assert message in problem.message


def test_the_wrong_file_has_five_problems_and_a_count() -> None:
    data = b'{"task": "words-1", "output": "ls"}\n' * 502
    with pytest.raises(FormatError) as raised:
        collect_predictions(Path("replies.jsonl"), data, TASKS)
    *listed, last = raised.value.problems
    assert len(listed) == 5
    assert last.message == "497 more problems, and no line is valid: is it the right file?"


def test_each_reason_is_one_line_with_what_helps() -> None:
    many = {f"files-{number:03}": Unanswered.CUT_OFF for number in range(12)}
    lines = unanswered_lines({**many, "x": Unanswered.REFUSED, "y": Unanswered.REASONING})
    assert [line.partition(":")[0] for line in lines] == [
        "12 tasks unanswered, cut off at the limit of tokens",
        "1 task unanswered, reasoning without an answer",
        "1 task unanswered, refused by the model",
    ]
    assert "files-009 and 2 more; raise the limit (--reply-tokens" in lines[0]
    assert "--reasoning-effort" in lines[1]


def test_a_large_file_takes_no_more_memory_than_its_answers() -> None:
    """A file may hold every attempt for the same tasks."""

    def lines() -> Iterator[bytes]:
        for _ in range(10_000):
            yield json.dumps(batch(chat("x" * 1000, "length"))).encode() + b"\n"
        yield json.dumps(batch(chat("ls"))).encode() + b"\n"

    tracemalloc.start()
    try:
        found = collect_predictions(Path("f"), lines(), TASKS)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert json.loads(found.lines[TASK])["output"] == "ls"
    assert peak < 1_000_000
