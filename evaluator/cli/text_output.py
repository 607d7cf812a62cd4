"""Print any text on a terminal or a pipe of any encoding, such as ASCII or ISO 8859-1.

A character that the encoding lacks becomes the nearest characters of ASCII, or a question mark. In JSON it becomes an
escape instead, because JSON is data and must keep every character.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
import unicodedata
from typing import Final

_HANDLER: Final = "bashboard"
_PLAIN: Final = {
    "–": "-",
    "—": "-",
    "−": "-",
    "…": "...",
    "·": ".",
    "×": "x",
    "÷": "/",
    "±": "+-",
    "→": "->",
    "≥": ">=",
    "≤": "<=",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "•": "*",
    "━": "-",
    "─": "-",
    "│": "|",
}


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Return the replacement of characters that an encoding lacks, and the position after them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_plain_character(each) for each in error.object[error.start : error.end]), error.end


def _plain_character(character: str) -> str:
    base = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return _PLAIN.get(character) or base or "?"


def accept_any_text() -> None:
    """Make standard output and standard error of this process print any text without an error."""
    codecs.register_error(_HANDLER, _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)


def json_output(text: str) -> str:
    """Return JSON text for standard output. If its encoding is not UTF-8, escape all characters outside of ASCII."""
    if codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8":
        return text
    return re.sub(r"[^\x00-\x7f]", lambda match: json.dumps(match[0])[1:-1], text)
