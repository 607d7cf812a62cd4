"""Untrusted commands and output as data in a prompt: the fields of one line of JSON.

Three measures keep them data. JSON quotes a text, so that its newlines, quotes and braces are escapes, and nothing of
it can begin a line or end a field. Hidden characters (see `evaluator.escaping`) and control tokens of chat templates
(`<|im_end|>`, `</s>`, `[INST]`) are JSON escapes too, which mean the same to a reader of JSON and nothing to a
tokeniser. The line stands between two marker lines with a code that is a digest of the line itself. To print the
closing marker, a text would have to hold its own digest.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Final

from evaluator.escaping import visible
from evaluator.records import Output, digest_of

BEGIN: Final = "DATA"
END: Final = "END"
"""The first words of the marker lines. The code follows."""

_TOKEN: Final = re.compile(r"<|\[(?=/?[A-Za-z_]{3,}\])")
"""The beginning of a control token of the usual chat templates."""

Field = str | dict[str, str | int]
"""A text, or an object for a text that is cut or not UTF-8. A text cannot imitate that object."""


class Fields:
    """Makes fields of at most `cap` bytes each. `whole` becomes false when a field is cut."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self.whole = True

    def text(self, data: bytes, size: int | None = None) -> Field:
        """Return bytes as a field. `size` is the length of the text if `data` is only its beginning."""
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
        """Return an output stream as a field."""
        return self.text(output.data, output.size)


def data_line(data: object) -> str:
    """Return the fields as one line of JSON in which every character is visible."""
    line = visible(json.dumps(data, ensure_ascii=False, separators=(", ", ": ")), _escape)
    return _TOKEN.sub(lambda match: _escape(match[0]), line)


def _escape(character: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in _utf16(character))


def _utf16(character: str) -> list[int]:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2)]


def delimiter(line: str) -> str:
    """Return the code of a line's markers: 128 bits of its digest, so that the same data has the same code."""
    return digest_of(b"panel", line.encode())[:32]
