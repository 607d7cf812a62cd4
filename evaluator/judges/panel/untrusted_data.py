"""What a stranger wrote or printed, as data that cannot be anything else: the fields of one JSON line.

Three things hold it there. JSON quotes it: a newline, a quote or a brace of the candidate's stands as an
escape, so nothing of it can begin a line or end a field. Whatever is not plainly visible, and what engines
read as control tokens of a chat (`<|im_end|>`, `</s>`, `[INST]`), is written as a JSON escape too, which
means the same character to a reader of JSON and nothing to a tokeniser. And the line stands between two
marker lines with a code that is a digest of the line itself, so that who would print the closing marker would
have to know a digest of a text that holds it.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Final

from evaluator.records import Output, digest_of

BEGIN: Final = "DATA"
END: Final = "END"
"""What the marker lines begin with; the code follows."""

_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Printable to Python, and yet nothing is seen: fillers, and selectors that can spell a whole hidden text."""

_TOKEN: Final = re.compile(r"<|\[(?=/?[A-Za-z_]{3,}\])")
"""Where control tokens of the usual chat templates begin."""

Field = str | dict[str, str | int]
"""A text, or where it is cut or no text an object that says so, which no text can pretend to be."""


class Fields:
    """Makes fields of at most `cap` bytes each. `whole` is false once one had to be cut."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self.whole = True

    def text(self, data: bytes, size: int | None = None) -> Field:
        """The bytes as a field; `size` is how many there were where `data` is only their beginning."""
        head = data[: self._cap]
        omitted = (len(data) if size is None else size) - len(head)
        try:  # a character that the cut divides is left out
            text: Field = codecs.getincrementaldecoder("utf-8")().decode(head, final=omitted <= 0)
        except UnicodeDecodeError:
            text = {"text": head.decode(errors="backslashreplace"), "bytes that are no UTF-8": r"written as \xNN"}
        if omitted <= 0:
            return text
        self.whole = False
        beginning = text if isinstance(text, dict) else {"text": text}
        return {**beginning, "bytes omitted after this": omitted}

    def output(self, output: Output) -> Field:
        """A stream as a field."""
        return self.text(output.data, output.size)


def data_line(data: object) -> str:
    """The one line of JSON that stands for these fields, every character of it printable."""
    text = json.dumps(data, ensure_ascii=False, separators=(", ", ": "))
    visible = text if text.isprintable() else "".join(map(_visible, text))
    for hidden in (_INVISIBLE, _TOKEN):
        visible = hidden.sub(lambda found: _escape(found[0]), visible)
    return visible


def _visible(character: str) -> str:
    return character if character.isprintable() else _escape(character)


def _escape(character: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in _utf16(character))


def _utf16(character: str) -> list[int]:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2)]


def delimiter(line: str) -> str:
    """The code of a line's markers: 128 bits of its digest, the same whenever the data is."""
    return digest_of(b"panel", line.encode())[:32]
