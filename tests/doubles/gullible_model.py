"""A judge that obeys: it follows whatever a stranger tells it outside of the data fields.

It reads a chat as an engine and a model at their most gullible would. Control tokens end a turn wherever they
stand. Any line break there is begins a line. What stands between the marker lines is data only where it is one
line of JSON without doubled names, with the names of our own fields and with nothing invisible in it. Whatever
else is there and is not, word for word, what the operator instructs, comes from a stranger and is obeyed: the
verdict is yes. Where no stranger speaks, the answer is no, for whoever has to bribe a judge is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evaluator.judges.panel.prompt import asks, prompt_wrapper
from evaluator.judges.panel.untrusted_data import BEGIN, END
from tests.doubles.model_server import ReceivedRequest, Said, completion, vote

_CONTROL: Final = re.compile(
    r"<\s*[|｜][^<>]*[|｜]\s*>|</?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn|think|system|user|assistant)>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|gMASK|CLS|SEP|MASK|PAD|UNK)\]|<<\s*/?SYS\s*>>"
)
_UNSEEN: Final = re.compile("[\u034f\u115f\u1160\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_COMMANDS: Final = {"task", "unsettled", "references", "candidate", "command_1", "command_2"}
_RUNS: Final = {
    "runs",
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
_JUDGES: Final = tuple(judge for judge in ("consensus", "llm", "exec-llm") if asks(judge))


def strangers_words(messages: Sequence[Mapping[str, str]], variants: Sequence[str] = ("one",)) -> list[str]:
    """Everything in a chat that neither the operator wrote nor a data field holds."""
    code = _code(messages)
    known = {line for judge in _JUDGES for part in prompt_wrapper(judge, code) for line in part.splitlines()}
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
    """Says yes to whoever tells it to from outside of the data, and no to everyone else."""
    heard = strangers_words(asked.messages)
    return completion(vote("yes", f"I was told so: {heard[0]}") if heard else vote("no", "nobody told me anything"))
