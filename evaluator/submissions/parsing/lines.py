"""Decoder of bytes to lines of text: it checks encoding, line ends and sizes before anything is parsed.

A submission is compared and stored byte for byte. Therefore only one form of a line is valid: UTF-8 without a
byte-order mark, ended by one newline.
"""

from __future__ import annotations

import codecs

from evaluator.submissions.limits import SubmissionLimits
from evaluator.submissions.problems import ProblemCollector
from evaluator.wording import pluralize

_MARKS = {
    codecs.BOM_UTF8: "UTF-8",
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def read_lines(data: bytes, report: ProblemCollector, limits: SubmissionLimits) -> list[str | None]:
    """Decode a file's bytes to lines without line ends. An unreadable line is None. Add all problems to `report`."""
    if not data:
        report.error(0, "empty file: expected at least one line")
        return []
    start = _mark_length(data, report)
    if start is None:
        return []
    _check_line_ends(data, report)
    lines = data[start:].split(b"\n", limits.lines)
    if len(lines) > limits.lines and lines[limits.lines]:
        count = data.count(b"\n") + (not data.endswith(b"\n"))
        message = f"{count:,} lines: at most {limits.lines:,} are read; the rest of this file is not checked"
        report.error(limits.lines + 1, message)
    if len(lines) > limits.lines or not lines[-1]:
        lines.pop()
    return _decode(lines, start, report, limits)


def _mark_length(data: bytes, report: ProblemCollector) -> int | None:
    """Return the length of a byte-order mark, or None if the bytes are no UTF-8. Report the mark."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            report.error(1, f"{encoding} byte-order mark: expected plain UTF-8; save as UTF-8 without a mark")
            return len(mark) if encoding == "UTF-8" else None
    return 0


def _check_line_ends(data: bytes, report: ProblemCollector) -> None:
    returns = data.count(b"\r")
    if returns:
        line = data.count(b"\n", 0, data.index(b"\r")) + 1
        message = f"{pluralize(returns, 'carriage return')} (CR), the first on this line"
        report.error(line, f"{message}: expected lines ended by a newline (LF) alone; convert the line ends")
    if not data.endswith(b"\n"):
        report.error(data.count(b"\n") + 1, "no newline at the end of the file: end the last line with one")


def _decode(lines: list[bytes], start: int, report: ProblemCollector, limits: SubmissionLimits) -> list[str | None]:
    decoded: list[str | None] = []
    for number, line in enumerate(lines, start=1):
        decoded.append(_decode_line(line.rstrip(b"\r"), number, start, report, limits))
        start += len(line) + 1
    return decoded


def _decode_line(
    line: bytes, number: int, start: int, report: ProblemCollector, limits: SubmissionLimits
) -> str | None:
    if len(line) > limits.line_bytes:
        report.error(number, f"line of {len(line):,} bytes: at most {limits.line_bytes:,} are read; shorten it")
        return None
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        place = f"byte 0x{line[error.start]:02x} at offset {start + error.start} of the file"
        report.error(number, f"not UTF-8: {place}; save as UTF-8, or give a command's bytes as base64")
        return None
