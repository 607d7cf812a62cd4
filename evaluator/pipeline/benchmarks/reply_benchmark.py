"""Measure the time and the memory of `bashboard submit collect` for files of replies in the forms of several APIs.

Each file is collected by a new process in a temporary checkout. The last lines of a file answer all tasks of the suite.
The lines before them are failed requests of the same tasks, which were cut off.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evaluator.errors import InfraError
from evaluator.pipeline.benchmarks.input_benchmark import run_measured
from evaluator.pipeline.project import Project
from evaluator.progress import Progress
from evaluator.wording import pluralize

_SLUG: Final = "bench"
_ANSWERS: Final = (
    "```bash\nfind . -name '*.log' -mtime +7 -print | sort\n```\nIt lists log files that are older than a week.",
    "<think>\nThe instruction asks for the five largest files.\n</think>\n\ndu -a . | sort -rn | head -n 5",
    "grep -rc '</think>' logs | awk -F: '{n += $2} END {print n}'",
    "```bash\ncat > notes.md <<'EOF'\n# Use\n```\nls\n```\nEOF\nwc -l notes.md\n```",
)
_CUT_OFF: Final = (
    "Let us begin with the files that are older than a week.\n```bash\nfind . -name '*.log' -mt",
    "<think>\nThe instruction asks for the five largest files. So the sizes have to be sorted first. " * 4,
    "grep -rc '</think>' logs | awk -F: '{n +=",
    "```bash\ncat > notes.md <<'EOF'\n# Use\n```\nls\n```\nEO",
)


@dataclass(frozen=True, slots=True)
class CollectCost:
    """The cost of collecting one file: its form, its size, the answered tasks, seconds, and peak memory in MB."""

    form: str
    lines: int
    file_mb: float
    answered: int
    wall_s: float
    cpu_s: float
    peak_mb: int


def bench_collect(
    project: Project, progress: Progress, *, suite: str, forms: Sequence[str], sizes: Sequence[int]
) -> list[CollectCost]:
    """Return the cost for each form and each number of lines. Raises InfraError if a task has no answer then."""
    tasks = [task.id for task in project.suite(suite).tasks]
    progress.stage("collecting", len(forms) * len(sizes))
    costs = []
    with tempfile.TemporaryDirectory(prefix="bashboard-bench-") as name:
        folder = Path(name)
        (folder / "fixtures").symlink_to(project.root / "fixtures")
        run_measured(["-m", "evaluator.cli", "submit", "init", _SLUG, "--suite", suite], folder)
        replies = folder / "replies.jsonl"
        for form in forms:
            for lines in sizes:
                with replies.open("w", encoding="utf-8") as file:
                    file.writelines(reply_lines(form, tasks, lines))
                collect = ["-m", "evaluator.cli", "submit", "collect", _SLUG, str(replies), "--suite", suite]
                ended = run_measured(collect, folder)
                answered, size_mb = min(lines, len(tasks)), round(replies.stat().st_size / 1e6, 1)
                if ended.output.split()[-2:-1] != [str(answered).encode()]:
                    raise InfraError(f"bashboard submit collect did not find {pluralize(answered, 'answer')} of {form}")
                seconds = ended.wall_s, ended.cpu_s
                costs.append(CollectCost(form, lines, size_mb, answered, *seconds, ended.peak_mb))
                progress.advance()
    return costs


def reply_lines(form: str, tasks: Sequence[str], lines: int) -> Iterator[str]:
    """Yield the lines of a file of replies in the form `form` of `REPLY_FORMS`."""
    write = REPLY_FORMS[form]
    for number in range(lines):
        is_cut_off = number < lines - len(tasks)
        texts = _CUT_OFF if is_cut_off else _ANSWERS
        yield json.dumps(write(tasks[number % len(tasks)], texts[number % len(texts)], is_cut_off)) + "\n"


def _chat(task: str, text: str, is_cut_off: bool) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "length" if is_cut_off else "stop"}
    usage = {"prompt_tokens": 310, "completion_tokens": 40, "total_tokens": 350}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "model": "a-model", "choices": [choice], "usage": usage}
    return _openai_batch(task, body)


def _responses(task: str, text: str, is_cut_off: bool) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    output = [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": [part]}]
    end = {"status": "incomplete" if is_cut_off else "completed"}
    details = {"incomplete_details": {"reason": "max_output_tokens"} if is_cut_off else None}
    usage = {"input_tokens": 310, "output_tokens": 40, "total_tokens": 350}
    body = {"id": "resp_1", "object": "response", **end, **details, "model": "a-model", "output": output}
    return _openai_batch(task, {**body, "usage": usage})


def _openai_batch(task: str, body: dict[str, Any]) -> dict[str, Any]:
    response = {"status_code": 200, "request_id": "1", "body": body}
    return {"id": "batch_req_1", "custom_id": task, "response": response, "error": None}


def _anthropic(task: str, text: str, is_cut_off: bool) -> dict[str, Any]:
    end = {"stop_reason": "max_tokens" if is_cut_off else "end_turn", "stop_sequence": None}
    usage = {"input_tokens": 310, "output_tokens": 40}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": text}]}
    return {"custom_id": task, "result": {"type": "succeeded", "message": {**message, **end, "usage": usage}}}


def _gemini(task: str, text: str, is_cut_off: bool) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]}
    candidate = {"content": content, "finishReason": "MAX_TOKENS" if is_cut_off else "STOP", "index": 0}
    usage = {"promptTokenCount": 310, "candidatesTokenCount": 40, "totalTokenCount": 350}
    return {"key": task, "response": {"candidates": [candidate], "usageMetadata": usage}}


def _plain(task: str, text: str, is_cut_off: bool) -> dict[str, Any]:
    return {"task": task, "output": text, **({"finish_reason": "length"} if is_cut_off else {})}


REPLY_FORMS: Final[dict[str, Callable[[str, str, bool], dict[str, Any]]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "plain": _plain,
}
"""The forms of replies. Each function returns a line with the task, the text, and whether the text was cut off."""
