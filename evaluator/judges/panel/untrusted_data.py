"""Quote untrusted commands and output as data in a prompt: as the fields of one line of JSON.

Three measures separate data from instructions. First, JSON quotes each text and escapes its newlines and quotes, so no
text can begin a line or end a field. Second, hidden characters (see `evaluator.escaping`) and control tokens of chat
templates (`<|im_end|>`, `</s>`, `[INST]`) become JSON escapes. A model can read these escapes, but a tokeniser does not
take them for control tokens. Third, one marker line precedes the line of JSON, and another follows it. Both contain a
digest of the line of JSON. A text inside the line cannot contain this digest, so it cannot imitate a marker.
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
    """A builder of the text fields of a prompt, of at most `cap` bytes each. `whole` is false after a truncation."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self.whole = True

    def text(self, data: bytes, size: int | None = None) -> Field:
        """Return a text as a field. `size` is the length of the full text if `data` is only its beginning."""
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
    """Return the data of a prompt as one line of JSON in which every character is visible."""
    line = visible(json.dumps(data, ensure_ascii=False, separators=(", ", ": ")), _escape)
    return _TOKEN.sub(lambda match: _escape(match[0]), line)


def _escape(character: str) -> str:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{encoded[at : at + 2].hex()}" for at in range(0, len(encoded), 2))


def delimiter(line: str) -> str:
    """Return the code in the marker lines around a prompt's line of data: 128 bits of the digest of this line."""
    return digest_of(b"panel", line.encode())[:32]
