"""This module converts untrusted text to HTML. Every byte is shown or visibly replaced, and none acts as markup.

HTML is escaped. A hidden character (see `evaluator.escaping`) is shown by name in a marked span, as `<ESC>` or
`<U+202E>`, so that two commands that differ always look different. A byte that is not UTF-8 is shown as `<0xFF>`. The
limit for long texts counts the characters of the escaped text, because the page shows the escaped text. So a command
full of hidden characters is cut earlier than a command of letters.
"""

from __future__ import annotations

import functools
import html
import re
from typing import Final

from markupsafe import Markup

from evaluator.escaping import classify, visible
from evaluator.wording import pluralize

_PLAIN: Final = re.compile(r"[ -~\n]*")
_LINE_END: Final = '<span class="mark">↵</span><br>'
_ESCAPED: Final = {character: html.escape(character) for character in "&<>\"'"} | {"\n": _LINE_END}
_CONTROLS: Final = re.findall(
    r"[A-Z]+\d?",
    "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB "
    "ESC FS GS RS US",
)
"""The names of the first 32 characters of ASCII."""

CELL: Final = 400
"""Length of a text in a table cell, in escaped characters."""

WORTH_CUTTING: Final = 120
"""Escaped characters that cutting an instruction must save. A shorter rest is shown."""


def plain_text(data: bytes | str) -> str:
    """Return a text with hidden characters shown by name, for charts and CSV files, which hold no markup."""
    return visible(_text_of(data), _name)


@functools.lru_cache(maxsize=32_768)
def inline(data: bytes | str, limit: int = CELL) -> Markup:
    """Return the HTML of a text, cut visibly after `limit` escaped characters. Line ends are shown as breaks.

    Results are cached, because many systems submit the same commands and fail for the same reasons.
    """
    size = len(data)
    text = _text_of(data[: 4 * limit + 4])
    if _PLAIN.fullmatch(text):
        return _escaped(_plain(text, size, limit, "byte" if isinstance(data, bytes) else "character"))
    pieces: list[str] = []
    length = shown = 0
    for character, hidden in classify(text):
        piece = _mark(character) if hidden else html.escape(character)
        length += len(piece)
        if length > limit:
            break
        pieces.append(piece)
        shown += _weight(character, data)
    return _escaped("".join(pieces) + _cut(size - shown, "byte" if isinstance(data, bytes) else "character"))


def _plain(text: str, size: int, limit: int, unit: str) -> str:
    """Return the same HTML as `inline`, but faster. The text must be printable ASCII.

    `text` is the first part of a text of `size` characters.
    """
    escaped = html.escape(text).replace("\n", _LINE_END)
    if len(text) == size and len(escaped) <= limit:
        return escaped
    length = shown = 0
    for character in text:
        length += len(_ESCAPED.get(character, character))
        if length > limit:
            break
        shown += 1
    return html.escape(text[:shown]).replace("\n", _LINE_END) + _cut(size - shown, unit)


def _cut(left: int, unit: str) -> str:
    return f'<span class="cut">… {pluralize(left, f"more {unit}")}</span>' if left else ""


def instruction(text: str, limit: int) -> Markup:
    """Return the HTML of an instruction, cut after `limit` escaped characters if this saves more than WORTH_CUTTING."""
    length = len(html.escape(text[: limit + WORTH_CUTTING + 1]))
    return inline(text, limit if length > limit + WORTH_CUTTING else limit + WORTH_CUTTING)


@functools.lru_cache(maxsize=32_768)
def command(data: bytes, limit: int = CELL) -> Markup:
    """Return the HTML of a command: a code element that is always shown from left to right."""
    if not data:
        return _escaped('<span class="empty">(empty)</span>')
    return _escaped(f'<code class="command" dir="ltr">{inline(data, limit)}</code>')


def web_link(address: str) -> Markup:
    """Return the HTML of a link to an address that a submission states.

    If the address is not a plain http or https address, return only its text.
    """
    if not re.fullmatch(r"https?://[!-~]+", address):
        return inline(address)
    escaped = html.escape(address)
    return _escaped(f'<a href="{escaped}" rel="nofollow ugc noopener">{escaped}</a>')


def _escaped(html_text: str) -> Markup:
    """Mark HTML as escaped, so that a template does not escape it again. All text in it must be escaped already."""
    return Markup(html_text)  # noqa: S704 - every caller escapes


def _text_of(data: bytes | str) -> str:
    return data.decode("utf-8", "surrogateescape") if isinstance(data, bytes) else data


def _weight(character: str, data: bytes | str) -> int:
    if isinstance(data, str) or "\udc80" <= character <= "\udcff":
        return 1
    return len(character.encode("utf-8", "surrogatepass"))


def _name(character: str) -> str:
    code = ord(character)
    if code < len(_CONTROLS):
        return "↵" if character == "\n" else f"<{_CONTROLS[code]}>"
    return f"<0x{code - 0xDC00:02X}>" if 0xDC80 <= code <= 0xDCFF else f"<U+{code:04X}>"


def _mark(character: str) -> str:
    return _LINE_END if character == "\n" else f'<span class="mark">{html.escape(_name(character))}</span>'
