"""Recognise equivalent formats of one answer: extra labels and numbers, and other spellings of paths and sizes.

The references of a task show only some equivalent layouts. This module adds common formats: line numbers, words from
the task's question, and a total of the rows above. It also accepts two spellings of the same path or of the same exact
size. The judge applies these rules only after it has compared every field of the answer, row by row. It does not apply
them if the task asks for a particular format.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from evaluator.judges.consensus.nondeterministic import Text
from evaluator.judges.consensus.rows import table_of

Fields = tuple[bytes, ...]
"""The fields of one row, in printed order."""

FORM: Final = re.compile(
    r"\b(only|just|without|not?|alone|omit\w*|suppress\w*|exclud\w*|hid(e|ing)|bare|plain|exact\w*|format\w*"
    r"|head(er|ing)s?|titles?|prefix\w*|label\w*|preced\w*|numbered|numbering|line numbers?|quot\w+|spell\w*)\b",
    re.IGNORECASE,
)
"""Words of a task that asks for a format or for an omission. In such a task, nothing counts as decoration."""

_UNIT: Final = re.compile(
    r"\b(bytes?|blocks?|human|readable|units?|[KMGT]i?B|(kilo|mega|giga|kibi|mebi|gibi)\w*)\b", re.I
)
_PATHS: Final = re.compile(
    r"\b(absolute|relative|full(y|-|\b)|complete|base ?names?|canonical|resolved?)", re.IGNORECASE
)
_NUMBERED: Final = re.compile(rb"[ \t]*(\d+)(?:[:.)]?[ \t]+|:|$)")
_LETTERS: Final = re.compile(rb"[A-Za-z]+:?")
_FILE_NAME: Final = re.compile(r"(?<![\w./*~-])[\w./~-]*(?:/[\w.-]+|\w\.[A-Za-z]\w*)(?![\w*])")
_AMOUNT: Final = re.compile(rb"(\d+)(?:\.(\d+))?([KMGTPE]?)")
_DISK_TITLES: Final = re.compile(rb"Filesystem[ \t].*[ \t]Mounted on[ \t]*")
_STARTS_AT_CWD: Final = re.compile(rb"(?:^|[\s'\"])\.(?:/|\s|$)")
_COPULAS: Final = frozenset({b"is", b"are", b"total", b"the", b"of"})

_LONGEST: Final = 40

_MOST_DIGITS: Final = 4_300
"""Digits of the longest number that Python reads. It raises an error for a longer one."""

LEAST_NUMBERED: Final = 3
"""Minimum number of rows that count up before their first fields are line numbers: a single `1` may be a count."""


class FormatContext(NamedTuple):
    """The context of a comparison: the words of the task, and the directory at which relative paths start."""

    words: str
    cwd: bytes


def is_equivalent_format(candidate: Text, reference: Text, context: FormatContext) -> bool:
    """Return whether candidate and reference give the same answer in formats that this module knows.

    The result is false if a text is truncated, is compared by its lines, or has nondeterministic words.
    """
    texts = (candidate, reference)
    if any(text.truncated or text.masked or text.by_line for text in texts) or FORM.search(context.words):
        return False
    reference_rows = _rows(reference)
    if not reference_rows:
        return False
    if any(_STARTS_AT_CWD.search(text.data) for text in (candidate, reference)):
        context = context._replace(cwd=b"")
    return any(_is_same_answer(rows, reference_rows, context) for rows in _undecorated(candidate, reference_rows))


def _rows(text: Text) -> list[Fields]:
    return [row.fields for row in table_of(text).rows]


def _undecorated(candidate: Text, reference_rows: Sequence[Fields]) -> Iterator[list[Fields]]:
    """Yield the candidate's rows unchanged. Then yield them without line numbers, if the lines are numbered.

    Finally yield them without the last row, if this row is a total. Line numbers or totals that the reference also has
    are not removed.
    """
    candidate_rows = _rows(candidate)
    yield candidate_rows
    plain = without_numbers(candidate.data)
    if plain is not None and not _counts_up(reference_rows):
        yield _rows(Text(plain, ""))
    if has_total(candidate_rows) and not has_total(reference_rows):
        yield candidate_rows[:-1]


def _is_same_answer(candidate_rows: Sequence[Fields], reference_rows: Sequence[Fields], context: FormatContext) -> bool:
    if abs(len(candidate_rows) - len(reference_rows)) > 1:  # a title row is the only row that may be without equal
        return False
    left = [_without_cwd(row, context) for row in candidate_rows]
    right = [_without_cwd(row, context) for row in reference_rows]
    if Counter(left) == Counter(right):
        return True
    if len(left) == len(right) == 1 and is_labelled(left[0], right[0], context.words):
        return True
    return not _UNIT.search(context.words) and same_amounts(_without_titles(left), _without_titles(right))


def without_numbers(data: bytes) -> bytes | None:
    """Return the text without its line numbers, or None if the lines are not numbered from 1 without gaps.

    A line number shows only the position of a line, so a wrong answer is still wrong without its line numbers. Counts
    (`uniq -c`) and the numbers of matching lines (`grep -n`) are removed only if they are 1, 2, 3 and so on. Blank
    lines may have no number, as in the output of `nl`.
    """
    lines, expected = [], 1
    for line in data.split(b"\n"):
        if line.strip():
            match = _NUMBERED.match(line)
            if match is None or int(match[1][:9]) != expected:
                return None
            lines.append(line[match.end() :])
            expected += 1
    return b"\n".join(lines) if expected > LEAST_NUMBERED else None


def _counts_up(rows: Sequence[Fields]) -> bool:
    return len(rows) > 1 and all(row[0].rstrip(b":.)") == b"%d" % number for number, row in enumerate(rows, start=1))


def has_total(rows: Sequence[Fields]) -> bool:
    """Return whether the last row is `N total`, and N is the sum of the first fields of at least two other rows.

    `wc` and `du -c` print this row. The row adds no information, because the judge compares all rows above it.
    """
    if len(rows) < LEAST_NUMBERED or len(rows[-1]) != 2 or rows[-1][1] != b"total":
        return False
    amounts = [row[0] for row in rows]
    are_numbers = all(amount.isdigit() and len(amount) <= _MOST_DIGITS for amount in amounts)
    return are_numbers and sum(map(int, amounts[:-1])) == int(amounts[-1])


def is_labelled(candidate: Fields, reference: Fields, words: str) -> bool:
    """Return whether two rows are equal except for labels: words, or a file name, from the task's question.

    `11 directories` equals `11` if the question asks for directories. `11` equals `11 notes.txt` if `notes.txt` is the
    only file that the question names. If the question names two files, the file name is part of the answer, and the
    rows differ. Label words have only letters, so an additional number or path in the candidate's row is never a label.
    """
    extra = list((Counter(candidate) - Counter(reference)).elements())
    missing = list((Counter(reference) - Counter(candidate)).elements())
    if len(extra) == len(candidate) or len(missing) == len(reference) or bool(extra) == bool(missing):
        return False
    question_words = {word.casefold() for word in re.findall(r"[A-Za-z]+", words)}
    if extra:
        return all(_is_word_of(field, question_words) for field in extra)
    named = {_base(name) for name in _FILE_NAME.findall(words)}
    return len(named) == 1 and len(missing) == 1 and {_base(missing[0].decode(errors="replace"))} == named


def _is_word_of(field: bytes, question_words: set[str]) -> bool:
    if not _LETTERS.fullmatch(field):
        return False
    word = field.rstrip(b":").lower()
    return word in _COPULAS or bool(question_words & {word.decode(), f"{word.decode()}s"})


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _without_cwd(row: Fields, context: FormatContext) -> Fields:
    if not context.cwd or _PATHS.search(context.words):
        return row
    return tuple(without_directory(field, context.cwd) for field in row)


def without_directory(field: bytes, cwd: bytes) -> bytes:
    """Return `a/b` for `/home/me/a/b` if commands start in `/home/me`. Leave `/home/me` itself unchanged.

    Both spellings name one file, and a wrong command names another file. A path outside the directory keeps its prefix.
    """
    start = cwd.rstrip(b"/") + b"/"
    return field[len(start) :] if field.startswith(start) and len(field) > len(start) else field


def _without_titles(rows: Sequence[Fields]) -> list[Fields]:
    """Return the rows without the title row of `df`, which names the unit of the amounts in the other rows."""
    remaining = [row for row in rows if not _DISK_TITLES.fullmatch(b" ".join(row))]
    return remaining if len(remaining) == len(rows) - 1 else list(rows)


def same_amounts(candidate: Sequence[Fields], reference: Sequence[Fields]) -> bool:
    """Return whether the rows are equal if `80K` in one text counts as `80` blocks of 1,024 bytes in the other.

    The utilities `du`, `df` and `ls -s` print such amounts. All fields that are not amounts identify the row and must
    be equal. The conversion does not round: `1.5M` equals 1,536 blocks and no other number. The function does not
    compare bytes with larger units, because `4.0K` may be 4,090 bytes rounded up.
    """
    left, right = _amounts_by_label(candidate), _amounts_by_label(reference)
    if left is None or right is None or left.keys() != right.keys() or not left:
        return False
    return all(
        len(row) == len(right[label]) and all(map(_is_same_amount, row, right[label])) for label, row in left.items()
    )


def _amounts_by_label(rows: Sequence[Fields]) -> dict[Fields, Fields] | None:
    """Map the label of each row to the amounts in the row. The label is all fields that are not amounts (sizes).

    Return None if a row has no label, or if two rows have the same label.
    """
    amounts: dict[Fields, Fields] = {}
    for row in rows:
        label = tuple(field for field in row if not _AMOUNT.fullmatch(field))
        if not label or label in amounts:
            return None
        amounts[label] = tuple(field for field in row if _AMOUNT.fullmatch(field))
    return amounts


def _is_same_amount(one: bytes, other: bytes) -> bool:
    if one == other:
        return True
    blocks, with_unit = (one, other) if one.isdigit() else (other, one)
    match = _AMOUNT.fullmatch(with_unit)
    if not blocks.isdigit() or match is None or not match[3] or len(one + other) > _LONGEST:
        return False
    digits, decimals, unit = match[1], match[2] or b"", b"KMGTPE".index(match[3])
    return int(digits + decimals) << (10 * unit) == int(blocks) * int(b"1" + b"0" * len(decimals))
