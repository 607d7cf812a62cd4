"""Joining sections to a text that fits into a GitHub comment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evaluator.github.comment.preview_sections import Section

LENGTH: Final = 65_536
"""The maximum length of a comment or of a pull request's body on GitHub in characters. This project counts bytes, which
are never fewer.
"""


def fit_sections(sections: Sequence[Section], where: str, limit: int = LENGTH) -> str:
    """Join the sections. While the text is too long, drop the longest section that has a name and list it at the end.

    `where` says in Markdown which command shows everything. Raises ValueError if the sections without a name are too
    long.
    """
    kept, gone = [each for each in sections if each.text], list[str]()
    while len((text := _joined(kept, gone, where)).encode()) > limit:
        loose = [each for each in kept if each.name]
        if not loose:
            raise ValueError(f"the shortest text has {len(text.encode())} bytes: expected at most {limit}")
        longest = max(loose, key=lambda each: len(each.text))
        kept = [each for each in kept if each is not longest]
        gone.append(longest.name)
    return text


def _joined(sections: Sequence[Section], gone: Sequence[str], where: str) -> str:
    parts = [each.text for each in sections]
    if gone:
        parts.append(f"_Left out, as GitHub takes no longer text: {', '.join(gone)}. {where}_")
    return "\n\n".join(parts) + "\n"
