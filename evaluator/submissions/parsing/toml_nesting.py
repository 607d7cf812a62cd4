"""This module checks how deeply a TOML file is nested, before Python's parser reads the file.

For a key with many dots, `tomllib` stores every prefix of the key. One key of 64 kB takes more than a minute and 4 GB
of memory. For nested arrays and inline tables, the greatest possible depth differs between releases of Python. The time
of this check is proportional to the file's size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_TEXT: Final = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?+'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5})?+"
    r'|"(?:[^"\\\n]|\\[^\n])*+"?+'
    r"|'[^'\n]*+'?+"
    r"|\#[^\n]*+",
    re.DOTALL,
)
"""A string or a comment, or the rest of the text if a string is not closed. Each start is tried only once."""

_DOTTED: Final = re.compile(r"[\w. \t-]++")
"""A key, or any other stretch of a line between two marks. Valid TOML has at most one key or one value in it."""

_OPENING: Final = frozenset("[{")
_MARKS: Final = re.compile(r"[][{}]")


def nesting_faults(text: str, nesting: int) -> Iterator[tuple[int, str]]:
    """Yield line number and message for the first key with too many parts and the first bracket that is too deep."""
    skeleton = _TEXT.sub(_without_content, text)
    for key in _DOTTED.finditer(skeleton):
        parts = key[0].count(".") + 1
        if parts > nesting:
            expected = f"at most {nesting} are read, and no field of a submission needs more than 2; remove it"
            yield _line(skeleton, key.start()), f"a key of {parts:,} parts between dots: {expected}"
            break
    depth = 0
    for mark in _MARKS.finditer(skeleton):
        depth += (mark[0] in _OPENING) - (mark[0] in "]}")
        if depth > nesting:
            message = f"arrays or tables nested too deep: at most {nesting} levels are read; write the flat fields"
            yield _line(skeleton, mark.start()), f"{message} of a submission"
            break


def _without_content(token: re.Match[str]) -> str:
    """Replace a string by the letter `s`, and a comment by nothing. Keep their line ends."""
    return ("" if token[0].startswith("#") else "s") + "\n" * token[0].count("\n")


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
