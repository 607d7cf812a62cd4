"""Compare two texts as exact bytes or as a sequence of lines. The task's `output` mode selects the comparison.

This module compares standard output, standard error and the files in `text_files`. In mode `none`, standard output is
ignored, and files are compared as in mode `exact`. The module `sets` compares rows as a set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from evaluator.judges.consensus.nondeterministic import Positions, Text, masked_fields, unmasked_words
from evaluator.judges.consensus.normalise import diagnostic, without_trailing_blanks
from evaluator.judges.reasons import shown
from evaluator.records import OutputMode


class OutputMatch(StrEnum):
    """The result of a comparison of two texts. `UNKNOWN` means that no clear result is possible."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


class OutputComparison(NamedTuple):
    """The result of a comparison, and its reason as a sentence.

    `line` is the number of the line that decides the result, or 0 if no single line decides it.
    """

    match: OutputMatch
    sentence: str = ""
    line: int = 0


SAME = OutputComparison(OutputMatch.SAME)


def compare_lines(candidate: Text, reference: Text, mode: OutputMode) -> OutputComparison:
    """Compare two texts line by line. Ignore a final newline. In mode `lines`, also ignore blanks at line ends."""
    masked = candidate.masked | reference.masked
    if candidate.digest == reference.digest and not masked:
        return SAME
    if candidate.truncated or reference.truncated:
        return _compare_truncated(candidate, reference)
    candidate_lines, reference_lines = (_lines(text.data, mode) for text in (candidate, reference))
    if candidate_lines == reference_lines and not masked:
        return SAME
    return _compare_each(candidate_lines, reference_lines, masked)


def compare_diagnostics(candidate: Text, reference: Text) -> OutputComparison:
    """Compare the standard error of two commands line by line. Ignore colour and the line numbers of the script."""
    texts = (candidate, reference)
    plain = [replace(text, data=b"\n".join(map(diagnostic, text.data.split(b"\n")))) for text in texts]
    return compare_lines(plain[0], plain[1], OutputMode.LINES)


def _lines(data: bytes, mode: OutputMode) -> list[bytes]:
    data = data.removesuffix(b"\n")
    lines = data.split(b"\n") if data else []
    return list(map(without_trailing_blanks, lines)) if mode is OutputMode.LINES else lines


def _compare_truncated(candidate: Text, reference: Text) -> OutputComparison:
    if candidate.masked or reference.masked:
        return OutputComparison(
            OutputMatch.UNKNOWN, "prints more than the recorded limit, and some of it changes between two runs"
        )
    return OutputComparison(
        OutputMatch.DIFFERENT, "prints more than the recorded limit, and other bytes than the reference"
    )


def _compare_each(
    candidate_lines: Sequence[bytes], reference_lines: Sequence[bytes], masked: Positions
) -> OutputComparison:
    fields = masked_fields(masked)
    has_unmasked_word = not masked
    for number, (line, expected) in enumerate(zip(candidate_lines, reference_lines, strict=False)):
        words = unmasked_words(line, fields.get(number, frozenset()))
        if line != expected and (number not in fields or words != unmasked_words(expected, fields[number])):
            sentence = f"line {number + 1} is {shown(line)}, expected {shown(expected)}"
            return OutputComparison(OutputMatch.DIFFERENT, sentence, number + 1)
        has_unmasked_word = has_unmasked_word or any(word is not None for word in words)
    if len(candidate_lines) != len(reference_lines):
        return _compare_ends(candidate_lines, reference_lines)
    if has_unmasked_word:
        return SAME
    return OutputComparison(OutputMatch.UNKNOWN, "everything it prints changes between two runs")


def _compare_ends(candidate_lines: Sequence[bytes], reference_lines: Sequence[bytes]) -> OutputComparison:
    number = min(len(candidate_lines), len(reference_lines)) + 1
    if len(candidate_lines) > len(reference_lines):
        sentence = f"line {number} is {shown(candidate_lines[number - 1])}, expected no more than {number - 1} lines"
    elif candidate_lines:
        sentence = f"ends after {number - 1} lines, expected line {number} to be {shown(reference_lines[number - 1])}"
    else:
        sentence = f"prints nothing, expected line 1 to be {shown(reference_lines[0])}"
    return OutputComparison(OutputMatch.DIFFERENT, sentence, number)
