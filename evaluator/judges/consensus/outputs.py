"""Comparison of texts by the task's `output` mode: exact bytes or a sequence of lines.

It serves standard output, standard error and the files in `text_files`. For files, the mode `none` means `exact`,
because `none` only ignores messages on standard output. The module `sets` compares rows as a set.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from evaluator.judges.consensus.nondeterministic import Positions, Text, masked_fields, unmasked_words
from evaluator.judges.consensus.normalise import diagnostic, without_trailing_blanks
from evaluator.judges.reasons import shown
from evaluator.records import OutputMode


class OutputMatch(StrEnum):
    """The result of comparing two texts."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


class OutputComparison(NamedTuple):
    """The result, one sentence about it, and the deciding line number (from 1, or 0 for none)."""

    agreement: OutputMatch
    sentence: str = ""
    line: int = 0


SAME = OutputComparison(OutputMatch.SAME)


def compare_lines(candidate: Text, reference: Text, mode: OutputMode) -> OutputComparison:
    """Compare two texts as `exact` (ignoring the final newline) or `lines` (also ignoring trailing blanks of lines)."""
    masked = candidate.masked | reference.masked
    if candidate.digest == reference.digest and not masked:
        return SAME
    if candidate.truncated or reference.truncated:
        return _compare_truncated(candidate, reference)
    ours, theirs = (_lines(text.data, mode) for text in (candidate, reference))
    if ours == theirs and not masked:
        return SAME
    return _compare_each(ours, theirs, masked)


def compare_diagnostics(candidate: Text, reference: Text) -> OutputComparison:
    """Compare standard error line by line, ignoring colour and the script's line numbers."""
    ours, theirs = (_with_data(text, _plain_diagnostics(text.data)) for text in (candidate, reference))
    return compare_lines(ours, theirs, OutputMode.LINES)


def _plain_diagnostics(data: bytes) -> bytes:
    return b"\n".join(map(diagnostic, data.split(b"\n")))


def _with_data(text: Text, data: bytes) -> Text:
    return Text(data, text.digest, text.truncated, text.masked)


def _lines(data: bytes, mode: OutputMode) -> list[bytes]:
    data = data.removesuffix(b"\n")
    lines = data.split(b"\n") if data else []
    return list(map(without_trailing_blanks, lines)) if mode is OutputMode.LINES else lines


def _compare_truncated(candidate: Text, reference: Text) -> OutputComparison:
    if candidate.masked or reference.masked:
        return OutputComparison(OutputMatch.UNKNOWN, "prints more than is kept, and some of it changes from run to run")
    return OutputComparison(OutputMatch.DIFFERENT, "prints more than is kept, and not the reference's bytes")


def _compare_each(ours: Sequence[bytes], theirs: Sequence[bytes], masked: Positions) -> OutputComparison:
    fields = masked_fields(masked)
    kept = not masked
    for number, (left, right) in enumerate(zip(ours, theirs, strict=False)):
        words = unmasked_words(left, fields.get(number, frozenset()))
        if left != right and (number not in fields or words != unmasked_words(right, fields[number])):
            sentence = f"line {number + 1} is {shown(left)}, expected {shown(right)}"
            return OutputComparison(OutputMatch.DIFFERENT, sentence, number + 1)
        kept = kept or any(word is not None for word in words)
    if len(ours) != len(theirs):
        return _compare_ends(ours, theirs)
    return SAME if kept else OutputComparison(OutputMatch.UNKNOWN, "all that is printed changes from run to run")


def _compare_ends(ours: Sequence[bytes], theirs: Sequence[bytes]) -> OutputComparison:
    number = min(len(ours), len(theirs)) + 1
    if len(ours) > len(theirs):
        sentence = f"line {number} is {shown(ours[number - 1])}, expected no more than {number - 1} lines"
    elif ours:
        sentence = f"ends after {number - 1} lines, expected line {number} to be {shown(theirs[number - 1])}"
    else:
        sentence = f"prints nothing, expected line 1 to be {shown(theirs[0])}"
    return OutputComparison(OutputMatch.DIFFERENT, sentence, number)
