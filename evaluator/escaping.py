"""An attacker's text made safe to print on a terminal, in a log or in an annotation."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text with every character that is not plainly visible as an escape such as `\x1b` or `\u202e`.

    `str.isprintable` is false for controls, formatting characters (all bidirectional ones), surrogates,
    private and unassigned code points and separators other than the space.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )
