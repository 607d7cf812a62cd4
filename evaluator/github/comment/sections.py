"""Markdown sections, and a function that joins sections into a text of limited length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

LENGTH: Final = 65_536
"""The maximum length of a comment or of a pull request's body on GitHub in characters. This project counts bytes, which
are never fewer.
"""


class Section(NamedTuple):
    """A part of a Markdown text. A section without a name is never omitted."""

    text: str
    name: str = ""


def fit_sections(sections: Sequence[Section], where: str, limit: int = LENGTH) -> str:
    """Join the sections into a text of at most `limit` bytes. If it is too long, omit the longest named sections.

    The text then ends with the names of the omitted sections and with `where`, a sentence in Markdown that says how to
    see the full text. Raises ValueError if the unnamed sections alone are too long.
    """
    present, dropped = [section for section in sections if section.text], list[str]()
    while True:
        parts = [section.text for section in present]
        if dropped:
            parts.append(f"_Left out, because GitHub accepts no longer text: {', '.join(dropped)}. {where}_")
        text = "\n\n".join(parts) + "\n"
        size = len(text.encode())
        if size <= limit:
            return text
        named = [section for section in present if section.name]
        if not named:
            raise ValueError(f"the shortest text has {size} bytes: expected at most {limit}")
        longest = max(named, key=lambda section: len(section.text))
        present = [section for section in present if section is not longest]
        dropped.append(longest.name)
