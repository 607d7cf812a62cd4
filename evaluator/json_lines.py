"""Read files of JSON lines: UTF-8 with one JSON value on each line. Every reader of such a file uses this module.

A line ends at `\\n` only, because a string may contain U+2028 and other characters at which Python splits lines. A
`\\r` before it is white space. A UTF-8 byte-order mark at the start is left out.

Python's JSON parser accepts equal keys (it uses the last value), NaN and integers of any length. Other parsers may read
such a file differently. Deeply nested values overflow the stack of Python's parser. `read_json` reports all of this.
"""

from __future__ import annotations

import codecs
import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from evaluator.errors import FormatError, Problem
from evaluator.escaping import printable
from evaluator.wording import pluralize

LONGEST_INTEGER: Final = 18
"""Digits of the longest accepted integer. Every such integer fits in 64 bits, so later stages need no check."""
NESTING: Final = 100
"""The default for the largest depth of arrays and objects."""
REPEATED: Final = "given more than once in one object"
MOST_PROBLEMS: Final = 100
"""The maximum number of problems of a file that are reported one by one. The rest is only counted."""
FEW_LINES: Final = 5
"""The number of lines whose problems are reported of a file without a valid line. It is probably the wrong file."""

_STRING_OR_BRACKET: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[][{}]', re.DOTALL)
"""A bracket, or a string, which is the rest of the text if it is not closed. Each start is tried only once, so the time
stays linear.
"""
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_QUOTED: Final = 24
_HINTS: Final = (
    ("Invalid \\", "", r"; write one backslash as two, \\"),
    ("Invalid control", "", r"; in a text write a new line as \n and a tab as \t"),
    ("Extra data", ",", "; remove the comma between the lines"),
    ("Extra data", "{", "; write each object on a line of its own"),
    ("Expecting property name", "'", '; JSON has double quotes: {"name": "text"}'),
    ("Expecting value", "\0", "; is the file complete?"),
    ("Expecting value", "\x1e", "; remove the record separators: tr -d '\\036'"),
    ("Expecting value", "data:", "; this is a stream: send the requests without stream"),
    ("Expecting value", "<<<<<<<", "; resolve the conflict of Git"),
    ("Expecting value", "'", '; JSON has double quotes: {"name": "text"}'),
)
"""Fixes of the most common errors: the start of Python's message, the text at the error, and the fix."""
_MARKS: Final = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_BINARY_FORMATS: Final = {
    b"\x1f\x8b": "compressed with gzip: unpack it with gunzip",
    b"PK\x03\x04": "a ZIP archive: unpack it with unzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: unpack it with unzstd",
    b"BZh": "compressed with bzip2: unpack it with bunzip2",
    b"\xfd7zXZ\0": "compressed with xz: unpack it with unxz",
    b"PAR1": "a Parquet file: write its rows as JSON lines",
    b"ARROW1": "an Arrow file: write its rows as JSON lines",
    b"SQLite format 3\0": "an SQLite database: write its rows as JSON lines",
    b"%PDF": "a PDF file",
    b"version https://git-lfs": "a pointer of Git LFS: get the file with git lfs pull",
}
"""The first bytes of files that are no text."""
_COLUMN: Final = re.compile(r'"[^"]*"|[A-Za-z_][\w ]*')
"""The name of a column in the first line of a table."""


class JsonText(NamedTuple):
    """The value of a JSON text, and the problems in this text that did not prevent its parsing."""

    value: Any
    faults: tuple[str, ...]


class JsonLine(NamedTuple):
    """A line of a file: its number from 1, its text without the line end, and its value."""

    number: int
    text: str
    value: Any


class ForeignFileError(ValueError):
    """The file as a whole is something else than JSON lines. The message names what it is."""


class LineProblems:
    """The problems of one file in the order of its lines. `lines` is the number of its lines so far.

    Only the first problems are kept: `MOST_PROBLEMS`, or those of `FEW_LINES` lines if every line has a problem.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.lines, self.count = path, 0, 0
        self._kept: list[Problem] = []
        self._last_line = self._invalid_lines = self._few = 0

    def add(self, line: int, message: str) -> None:
        """Add a problem of a line, or of the whole file if `line` is 0."""
        self.count += 1
        self._invalid_lines += line != self._last_line
        self._last_line = line
        if self.count <= MOST_PROBLEMS:
            self._kept.append(Problem(self.path, line, message))
            if self._invalid_lines <= FEW_LINES:
                self._few = len(self._kept)

    def all(self) -> list[Problem]:
        """Return the kept problems. If there are more, the last entry has their number."""
        is_other_file = self._invalid_lines >= self.lines
        shown = self._kept[: self._few] if is_other_file else self._kept
        rest = self.count - len(shown)
        if not rest:
            return shown
        question = ", and no line is valid: is it the right file?" if is_other_file else ""
        return [*shown, Problem(self.path, 0, f"{pluralize(rest, 'more problem')}{question}")]

    def raise_any(self) -> None:
        """Raise FormatError if there is a problem."""
        if self.count:
            raise FormatError(self.all())


def read_json_lines(
    source: bytes | Iterable[bytes], problems: LineProblems, *, nesting: int = NESTING, blank: bool = False
) -> Iterator[JsonLine]:
    """Yield each valid line of a file, and add a problem for each other line. Nothing else of the file is kept.

    `source` has the bytes of the file or their lines, such as an open file. Blank lines are left out if `blank` is
    true, and are problems otherwise. If the file is something else, this is its only problem.
    """
    try:
        for number, line in numbered_lines(source):
            if not line.strip():
                if not blank:
                    problems.add(number, "blank line: expected one JSON object on every line; remove it")
                continue
            problems.lines += 1
            try:
                text, value = _checked(line, nesting)
            except ValueError as error:
                problems.add(number, str(error))
            else:
                yield JsonLine(number, text, value)
    except ForeignFileError as error:
        problems.add(0, str(error))


def numbered_lines(source: bytes | Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, without line ends and without byte-order marks.

    Files that were joined may have such a mark on any line.

    Raises ForeignFileError before the first line if the file is something else than JSON lines.
    """
    lines = iter(io.BytesIO(source) if isinstance(source, bytes) else source)
    begin = [line.removeprefix(codecs.BOM_UTF8) for line in itertools.islice(lines, 2)]
    if begin and (other := foreign_format(*begin)):
        raise ForeignFileError(other)
    for number, line in enumerate(itertools.chain(begin, lines), 1):
        yield number, line.removeprefix(codecs.BOM_UTF8).rstrip(b"\r\n")


def lines_with_ends(data: bytes) -> list[bytes]:
    """Split the bytes of a file into lines, each with its line end `\\n`."""
    return io.BytesIO(data).readlines()


def parse_line(line: bytes, nesting: int = NESTING) -> Any:
    """Return the value of one line. Raises ValueError with the reason and the column if it is invalid."""
    return _checked(line, nesting)[1]


def _checked(line: bytes, nesting: int) -> tuple[str, Any]:
    text = decoded(line)
    value, faults = read_json(text, nesting)
    if has_half_characters(text, value):
        faults += ("half of a surrogate pair in a string: write the whole character",)
    if faults:
        raise ValueError("; ".join(faults))
    return text, value


def decoded(line: bytes) -> str:
    """Decode a line as UTF-8. Raises ValueError with the first invalid byte."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"expected UTF-8, found the byte {line[error.start]:#04x}") from None


def has_half_characters(text: str, value: object) -> bool:
    """Return whether a JSON text has half of a surrogate pair, such as `\\ud83d`. UTF-8 has no form for it."""
    if not _SURROGATE.search(text):
        return False
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def foreign_format(first: bytes, second: bytes = b"") -> str:
    """Return what a file is instead of JSON lines, or "". `first` and `second` are its first lines."""
    for begin, description in _BINARY_FORMATS.items():
        if first.startswith(begin):
            return f"the file is {description}"
    encoding = next((name for mark, name in _MARKS.items() if first.startswith(mark)), "")
    if not encoding and len(set(first[:2])) == 2 and b"\0" in first[:2]:
        encoding = "UTF-16"
    if encoding:
        return f"the file is {encoding} text: save it as UTF-8, for example with iconv -f {encoding} -t UTF-8"
    text = first.decode(errors="replace").strip()
    if text.startswith("[") and _is_array(text):
        return "the file is one JSON value; expected one object a line: jq -c '.[]' FILE"
    if text.startswith("{") and second.strip() and _is_open(text):
        return "the file has JSON objects over several lines; expected one object a line: jq -c . FILE"
    if re.search(r"\}\r\s*\{", text):
        return "lines end with a carriage return (CR) alone: convert the line ends to newlines (LF)"
    if re.match(r"<(?:!doctype|html|\?xml)", text, re.IGNORECASE):
        return "the file is a page of HTML or XML; expected one JSON object a line"
    if any(_is_table(text, separator) for separator in ",;\t"):
        return "the file is a table, such as CSV; expected one JSON object a line"
    return ""


def _is_array(text: str) -> bool:
    """Return whether a text that begins with a bracket is an array or the start of one."""
    return bool(re.match(r'\[\s*(?:$|[{"\[\]]|\d|true|false|null)', text))


def _is_table(text: str, separator: str) -> bool:
    """Return whether a text is the first line of a table, with the names of two columns or more."""
    columns = text.split(separator)
    return len(columns) > 1 and all(_COLUMN.fullmatch(column) for column in columns)


def _is_open(text: str) -> bool:
    """Return whether a text is the start of a JSON object that goes on in the next line."""
    return re.search(r"(?:[{\[:]|[^\]}],)$", text) is not None


def read_json(text: str, nesting: int) -> JsonText:
    """Parse one JSON text. Raises ValueError for invalid text. The message of the error contains the column."""
    if _is_deeper(text, nesting):
        raise ValueError(f"arrays and objects nested more than {nesting} deep: expected a flat record")
    faults: list[str] = []

    def integer(digits: str) -> int:
        if len(digits) <= LONGEST_INTEGER + digits.startswith("-"):
            return int(digits)
        faults.append(f"integer {_shown(digits)} of {len(digits)} digits: at most {LONGEST_INTEGER} are read")
        return 0

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(pairs)
        if len(members) < len(pairs):
            faults.append(f"{REPEATED}: {_repeated(pairs)}; keep one of each")
        return members

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_int=integer)
    except json.JSONDecodeError as error:
        raise ValueError(_located(error)) from error
    return JsonText(value, tuple(faults))


def _located(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos : error.pos + 20]
    place = f"before {_shown(rest, 19)}" if rest else "at the end of the line"
    hint = next((hint for begin, at, hint in _HINTS if error.msg.startswith(begin) and rest.startswith(at)), "")
    message = error.msg.removesuffix(" at").removesuffix(" starting")
    if not hint and (not rest or error.msg.startswith("Unterminated")):
        hint = "; is the line complete?"
    return f"broken JSON at column {error.colno}, {place}: {message[:1].lower()}{message[1:]}{hint}"


def _shown(text: str, length: int = _QUOTED) -> str:
    return f"'{printable(text[:length])}'" + ("…" if len(text) > length else "")


def _repeated(pairs: list[tuple[str, object]]) -> str:
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for name, _ in pairs:
        if name in seen:
            twice[name] = None
        seen.add(name)
    names = [_shown(name, 60) for name in twice]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _is_deeper(text: str, nesting: int) -> bool:
    """Return whether brackets in a JSON text are nested deeper than `nesting`. Stop at the first such bracket."""
    if text.count("[") + text.count("{") <= nesting:
        return False
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        piece = match[0]
        if piece in "[{":
            depth += 1
            if depth > nesting:
                return True
        elif piece in "]}":
            depth -= 1
    return False
