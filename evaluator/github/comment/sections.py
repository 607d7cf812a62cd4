"""A text of sections that is never longer than GitHub takes: the longest of those that may go are left out by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evaluator.github.comment.preview_sections import Section

LENGTH: Final = 65_536
"""GitHub takes so many characters in a comment or in the body of a pull request; counted here are bytes, of which there
are no fewer."""


def fit_sections(sections: Sequence[Section], where: str, limit: int = LENGTH) -> str:
    """All sections, or without the longest of those that have a name, which the end then lists; `where` says in
    Markdown what shows all of it. Raises ValueError where what has no name is too long already."""
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
