"""From a model's raw text to the one command it gave, as submission.toml declares.

The rule is public and small on purpose: a submitter who wants another gives `candidates` instead.
"""

from __future__ import annotations

import re
from typing import Final

from evaluator.records import Candidate, Extraction, Prediction

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_FENCE: Final = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")


def extract(prediction: Prediction, extraction: Extraction) -> Prediction:
    """The same prediction with its candidates; raw text becomes one candidate."""
    if prediction.output is None:
        return prediction
    command = command_in(prediction.output, extraction).encode()
    return prediction.model_copy(update={"candidates": (Candidate(command=command),), "output": None})


def command_in(text: str, extraction: Extraction) -> str:
    """The whole text, or with `markdown` the first fenced block's, where there is one."""
    block = first_block(text) if extraction is Extraction.MARKDOWN else None
    return text if block is None else block


def first_block(text: str) -> str | None:
    """The content of the first fenced code block, or None.

    As CommonMark has it: three or more backticks or tildes open, as many of the same close, a block never
    closed runs to the end, the fence's own indentation is taken off its lines. Unlike it, a fence may be
    indented by any amount, because models indent blocks under list items.
    """
    lines = _LINE_END.split(text)
    for number, line in enumerate(lines):
        if opening := _FENCE.match(line):
            indentation, fence = opening.groups()
            return "\n".join(_content(lines[number + 1 :], len(indentation), fence))
    return None


def _content(lines: list[str], indentation: int, fence: str) -> list[str]:
    closing = re.compile(rf"[ \t]*{re.escape(fence[0])}{{{len(fence)},}}[ \t]*")
    content: list[str] = []
    for line in lines:
        if closing.fullmatch(line):
            break
        margin = len(line) - len(line.lstrip(" \t"))
        content.append(line[min(margin, indentation) :])
    return content
