"""Hostile text on a page: every byte of a submission is shown, none is obeyed.

HTML is escaped. Characters that a reader would not see, or that would move what stands round them (terminal
controls, bidirectional marks, zero-width and unassigned characters, unusual spaces, stacked accents) are
written out, `<ESC>` or `<U+202E>`, in a marked span: two commands that differ always look different. Bytes that
are not UTF-8 appear as `<0xFF>`. What is long is cut by the length of its *escaped* form, because that is
what weighs on the page: a command of escapes is cut sooner than one of letters.
"""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

_PLAIN: Final = re.compile(r"[ -~\n]*")
_LINE_END: Final = '<span class="mark">↵</span><br>'
_ESCAPED: Final = {character: html.escape(character) for character in "&<>\"'"} | {"\n": _LINE_END}
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_ACCENTS: Final = frozenset({"Mn", "Me"})
_MAX_ACCENTS: Final = 2
"""Accents one letter may carry; living scripts stack two, a third and more are drawn over other lines."""

_CONTROLS: Final = re.findall(
    r"[A-Z]+\d?",
    "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB "
    "ESC FS GS RS US",
)
"""What ASCII calls its first 32 characters."""

CELL: Final = 400
"""Escaped characters of one text in a table cell."""


def plain_text(data: bytes | str) -> str:
    """The text with everything invisible written out, for places that hold no markup (charts, CSV)."""
    return "".join(name or character for character, name in _named(_text_of(data)))


@functools.lru_cache(maxsize=32_768)
def inline(data: bytes | str, limit: int = CELL) -> str:
    """HTML of a text of at most `limit` escaped characters, line ends shown as breaks, the cut said.

    Remembered, as systems give the same commands and fail for the same reasons.
    """
    size = len(data)
    text = _text_of(data[: 4 * limit + 4])
    if _PLAIN.fullmatch(text):
        return _plain(text, size, limit, "byte" if isinstance(data, bytes) else "character")
    pieces: list[str] = []
    length = shown = 0
    for character, name in _named(text):
        piece = html.escape(character) if name is None else _mark(character, name)
        length += len(piece)
        if length > limit:
            break
        pieces.append(piece)
        shown += _weight(character, data)
    return "".join(pieces) + _cut(size - shown, "byte" if isinstance(data, bytes) else "character")


def _plain(text: str, size: int, limit: int, unit: str) -> str:
    """`inline` of what is ASCII throughout, which needs no look at a character's kind; `text` may be cut off `size`."""
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
    return f'<span class="cut">… {left:,} more {unit}{"s" * (left > 1)}</span>' if left else ""


@functools.lru_cache(maxsize=32_768)
def command(data: bytes, limit: int = CELL) -> str:
    """HTML of a command: `inline` in a code element that is read from left to right whatever its letters."""
    if not data:
        return '<span class="empty">(empty)</span>'
    return f'<code class="command" dir="ltr">{inline(data, limit)}</code>'


def web_link(address: str) -> str:
    """A link to an address that a submission gave; shown as text where it is not plain http or https."""
    if not re.fullmatch(r"https?://[!-~]+", address):
        return inline(address)
    return f'<a href="{html.escape(address)}" rel="nofollow ugc noopener">{html.escape(address)}</a>'


def _text_of(data: bytes | str) -> str:
    return data.decode("utf-8", "surrogateescape") if isinstance(data, bytes) else data


def _weight(character: str, data: bytes | str) -> int:
    if isinstance(data, str) or "\udc80" <= character <= "\udcff":
        return 1
    return len(character.encode("utf-8", "surrogatepass"))


def _named(text: str) -> Iterator[tuple[str, str | None]]:
    """Each character, with the way to write it out where it must not be drawn and None where it may be."""
    accents = 0
    for character in text:
        category = unicodedata.category(character)
        accents = accents + 1 if category in _ACCENTS else 0
        hidden = category in _HIDDEN and character != " "
        yield character, _name(character) if hidden or accents > _MAX_ACCENTS else None


def _name(character: str) -> str:
    code = ord(character)
    if code < len(_CONTROLS):
        return "↵" if character == "\n" else f"<{_CONTROLS[code]}>"
    return f"<0x{code - 0xDC00:02X}>" if 0xDC80 <= code <= 0xDCFF else f"<U+{code:04X}>"


def _mark(character: str, name: str) -> str:
    return _LINE_END if character == "\n" else f'<span class="mark">{html.escape(name)}</span>'
