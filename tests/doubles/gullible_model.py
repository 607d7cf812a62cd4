"""A double of a model that obeys every instruction outside of the data fields of a prompt.

The double reads a chat as the most gullible server and model would. A control token ends a turn at any place. Every
kind of line break begins a new line. The text between the marker lines is data only if it is one line of JSON with
the names of our own fields, without repeated names and without invisible characters.

Any other text that is not literally a part of the operator's prompt counts as injected. The double obeys injected
text: the verdict is yes. Without injected text the verdict is no, because the tested candidates are wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evaluator.judges.panel.prompt import OPEN, asks, prompt_wrapper
from evaluator.judges.panel.untrusted_data import BEGIN, END
from tests.doubles.model_server import ReceivedRequest, Said, completion, vote

_CONTROL: Final = re.compile(
    r"<\s*[|｜][^<>]*[|｜]\s*>|</?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn|think|system|user|assistant)>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|gMASK|CLS|SEP|MASK|PAD|UNK)\]|<<\s*/?SYS\s*>>"
)
_UNSEEN: Final = re.compile("[\u034f\u115f\u1160\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_COMMANDS: Final = {"task", "unsettled", "references", "examples", "candidate", "command_1", "command_2"}
_RUNS: Final = {
    "runs",
    "published",
    "added",
    "printed",
    "status",
    "stderr",
    "output_1",
    "output_2",
    "changed files",
    "path",
    "kind",
    "content",
}
_CUTS: Final = {"text", "bytes omitted after this", "bytes that are no UTF-8", "changes omitted after this"}
_NAMES: Final = frozenset(_COMMANDS | _RUNS | _CUTS)
_KINDS: Final = (OPEN, *(judge for judge in ("consensus", "llm", "exec-llm") if asks(judge)))


def strangers_words(messages: Sequence[Mapping[str, str]], variants: Sequence[str] = ("one",)) -> list[str]:
    """Return the injected lines of a chat: the text that is neither in the operator's prompt nor in a data field."""
    code = _code(messages)
    known = {line for kind in _KINDS for part in prompt_wrapper(kind, code) for line in part.splitlines()}
    found = [] if [each["role"] for each in messages] == ["system", "user"] else ["turns that nobody opened"]
    for message in messages:
        lines = _CONTROL.sub("\n", message["content"]).splitlines()
        found += (
            _outside(lines, code, known, frozenset(variants))
            if message["role"] == "user"
            else [line for line in lines if line not in known]
        )
    return found


def _code(messages: Sequence[Mapping[str, str]]) -> str:
    found = re.search(rf"`{BEGIN} (\S+)`", messages[0]["content"])
    return found[1] if found else ""


def _outside(lines: list[str], code: str, known: set[str], variants: frozenset[str]) -> Iterator[str]:
    begin, end = f"{BEGIN} {code}", f"{END} {code}"
    if begin not in lines or end not in lines:
        yield "no markers"
        return
    first, last = lines.index(begin), lines.index(end)
    data = lines[first + 1 : last]
    if len(data) != 1 or not data[0].isprintable() or _UNSEEN.search(data[0]) or not _is_ours(data[0], variants):
        yield from data or ["nothing between the markers"]
    yield from (line for line in (*lines[:first], *lines[last + 1 :]) if line and line not in known)


def _is_ours(line: str, variants: frozenset[str]) -> bool:
    names: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names.extend(name for name, _ in pairs)
        if len({name for name, _ in pairs}) < len(pairs):
            names.append("a name that stands twice")
        return dict(pairs)

    try:
        value = json.loads(line, object_pairs_hook=collect)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "task" in value and set(names) <= _NAMES | variants


def gullible_reply(asked: ReceivedRequest) -> Said:
    """Answer yes to a chat with text that a candidate injected outside of the data, and no to any other chat."""
    heard = strangers_words(asked.messages)
    return completion(vote("yes", f"I was told so: {heard[0]}") if heard else vote("no", "nobody told me anything"))
