"""This module extracts one command from a model's raw text. submission.toml declares the rule of extraction.

The rules are public and deliberately small. A contributor who needs another rule submits `candidates` instead.
"""

from __future__ import annotations

import re
from typing import Final

from evaluator.records import Candidate, Extraction, Prediction

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_FENCE: Final = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")


def extract(prediction: Prediction, extraction: Extraction) -> Prediction:
    """Convert a prediction's raw model text to a candidate. A prediction without raw text stays unchanged."""
    if prediction.output is None:
        return prediction
    command = command_in(prediction.output, extraction).encode()
    return prediction.model_copy(update={"candidates": (Candidate(command=command),), "output": None})


def command_in(text: str, extraction: Extraction) -> str:
    """Return the command in a model's raw text.

    With the extraction MARKDOWN, this is the content of the first fenced block. Without such a block, or with another
    extraction, it is the complete text.
    """
    block = first_block(text) if extraction is Extraction.MARKDOWN else None
    return text if block is None else block


def first_block(text: str) -> str | None:
    """Return the content of the first fenced code block, or None if there is no block.

    As in CommonMark, three or more backticks or tildes open a block, and at least as many of the same character close
    it. A block that is not closed ends with the text. The indentation of the fence is removed from the block's lines.
    Unlike in CommonMark, any indentation of a fence is allowed, because models indent blocks in list items.
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
