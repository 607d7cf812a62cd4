"""Known equivalent formats of one answer: decorations around it, and spellings of paths and sizes.

The references show which layouts are equivalent, but only the layouts that they use. This module adds the layouts that
every reader knows: line numbers, words of the question, and a total of the rows above. It also accepts two spellings of
a path or size that are equal without rounding. These rules apply only if every field of the answer has been compared,
row by row. They do not apply if the task asks for a particular format.
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

_FORM: Final = re.compile(
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
_FROM_HERE: Final = re.compile(rb"(?:^|[\s'\"])\.(?:/|\s|$)")
_COPULAS: Final = frozenset({b"is", b"are", b"total", b"the", b"of"})

_LONGEST: Final = 40

LEAST_NUMBERED: Final = 3
"""Minimum number of rows that count up before their first fields are line numbers: a single `1` may be a count."""


class FormatContext(NamedTuple):
    """The context of a comparison: the words of the task, and the directory at which relative paths start."""

    words: str
    cwd: bytes


def is_presentation(candidate: Text, reference: Text, asked: FormatContext) -> bool:
    """Return whether both texts give one answer in equivalent formats. Nondeterministic or truncated texts never do."""
    if candidate.truncated or reference.truncated or candidate.masked or reference.masked or _FORM.search(asked.words):
        return False
    theirs = _rows(reference)
    if not theirs:
        return False
    if any(_FROM_HERE.search(text.data) for text in (candidate, reference)):
        asked = asked._replace(cwd=b"")
    return any(_are_one(ours, theirs, asked) for ours in _undecorated(candidate, theirs))


def _rows(text: Text) -> list[Fields]:
    return [row.fields for row in table_of(text).rows]


def _undecorated(candidate: Text, theirs: Sequence[Fields]) -> Iterator[list[Fields]]:
    """Yield the candidate's rows unchanged, then without line numbers, then without a total."""
    ours = _rows(candidate)
    yield ours
    plain = without_numbers(candidate.data)
    if plain is not None and not _counts_up(theirs):
        yield _rows(Text(plain, ""))
    if has_sum(ours) and not has_sum(theirs):
        yield ours[:-1]


def _are_one(ours: Sequence[Fields], theirs: Sequence[Fields], asked: FormatContext) -> bool:
    left, right = [_placed(row, asked) for row in ours], [_placed(row, asked) for row in theirs]
    if Counter(left) == Counter(right):
        return True
    if len(left) == len(right) == 1 and is_labelled(left[0], right[0], asked.words):
        return True
    return not _UNIT.search(asked.words) and same_amounts(_without_titles(left), _without_titles(right))


def without_numbers(data: bytes) -> bytes | None:
    """Return the text without its line numbers, or None if its lines do not count up from 1 without gaps.

    A line number only tells the position of a line, so a wrong answer stays wrong without it. Counts (`uniq -c`) and
    line numbers of a longer file (`grep -n`) do not count up from 1 in steps of one. Blank lines, which `nl` does not
    number, are allowed between.
    """
    lines, expected = [], 1
    for line in data.split(b"\n"):
        if line.strip():
            found = _NUMBERED.match(line)
            if found is None or int(found[1][:9]) != expected:
                return None
            lines.append(line[found.end() :])
            expected += 1
    return b"\n".join(lines) if expected > LEAST_NUMBERED else None


def _counts_up(rows: Sequence[Fields]) -> bool:
    return len(rows) > 1 and all(row[0].rstrip(b":.)") == b"%d" % number for number, row in enumerate(rows, start=1))


def has_sum(rows: Sequence[Fields]) -> bool:
    """Return whether the last of three or more rows is `N total`, and N is the sum of the other rows' first fields.

    `wc` and `du -c` print this row. It follows from the rows above it, which are all compared. Other rows or numbers
    therefore still differ.
    """
    if len(rows) < LEAST_NUMBERED or len(rows[-1]) != 2 or rows[-1][1] != b"total":
        return False
    amounts = [row[0] for row in rows]
    return all(amount.isdigit() for amount in amounts) and sum(map(int, amounts[:-1])) == int(amounts[-1])


def is_labelled(ours: Fields, theirs: Fields, words: str) -> bool:
    """Return whether one row equals the other except for words of the question, or for a file name from it.

    `11 directories` equals `11` if the question asks for directories. `11` equals `11 notes.txt` if the question names
    that file and no other. A near miss has another value or an extra value, which no question contains. Label words
    have only letters, so a number or a path is never a label. If a question names two files, the name is part of the
    answer.
    """
    more, less = list((Counter(ours) - Counter(theirs)).elements()), list((Counter(theirs) - Counter(ours)).elements())
    if len(more) == len(ours) or len(less) == len(theirs) or bool(more) == bool(less):
        return False
    known = {word.casefold() for word in re.findall(r"[A-Za-z]+", words)}
    if more:
        return all(_is_word_of(field, known) for field in more)
    named = {_base(name) for name in _FILE_NAME.findall(words)}
    return len(named) == 1 and len(less) == 1 and {_base(less[0].decode(errors="replace"))} == named


def _is_word_of(field: bytes, known: set[str]) -> bool:
    if not _LETTERS.fullmatch(field):
        return False
    word = field.rstrip(b":").lower()
    return word in _COPULAS or bool(known & {word.decode(), f"{word.decode()}s"})


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _placed(row: Fields, asked: FormatContext) -> Fields:
    if not asked.cwd or _PATHS.search(asked.words):
        return row
    return tuple(without_directory(field, asked.cwd) for field in row)


def without_directory(field: bytes, cwd: bytes) -> bytes:
    """Return `a/b` for `/home/me/a/b` if commands start in `/home/me`. Leave that directory itself unchanged.

    Both spellings name one file. A near miss names another file, and a path outside the directory keeps its prefix.
    `is_presentation` does not accept `./a/b` for it, because such a path comes from a search of the whole directory,
    which is wider than a search of `a`.
    """
    start = cwd.rstrip(b"/") + b"/"
    return field[len(start) :] if field.startswith(start) and len(field) > len(start) else field


def _without_titles(rows: Sequence[Fields]) -> list[Fields]:
    """Return the rows without the title row of `df`, which names the unit of the amounts below."""
    kept = [row for row in rows if not _DISK_TITLES.fullmatch(b" ".join(row))]
    return kept if len(kept) == len(rows) - 1 else list(rows)


def same_amounts(ours: Sequence[Fields], theirs: Sequence[Fields]) -> bool:
    """Return whether the rows are equal, except that some count blocks of 1,024 bytes and others use larger units.

    `80K` equals `80` in the output of `du`, `df` and `ls -s`. The other fields must be equal, and they identify the
    row. A rounded amount is not equal: `1.5M` is exactly 1,536 blocks. A near miss that measures something else
    therefore differs. Bytes are not compared with units, because `4.0K` may be 4,090 bytes rounded up.
    """
    left, right = _by_words(ours), _by_words(theirs)
    if left is None or right is None or left.keys() != right.keys() or not left:
        return False
    return all(
        len(row) == len(right[words]) and all(map(_is_same_amount, row, right[words])) for words, row in left.items()
    )


def _by_words(rows: Sequence[Fields]) -> dict[Fields, Fields] | None:
    """Map each row's other fields to its amounts.

    Return None if a row has no other fields, or if two rows have the same ones.
    """
    found: dict[Fields, Fields] = {}
    for row in rows:
        key = tuple(field for field in row if not _AMOUNT.fullmatch(field))
        if not key or key in found:
            return None
        found[key] = tuple(field for field in row if _AMOUNT.fullmatch(field))
    return found


def _is_same_amount(one: bytes, other: bytes) -> bool:
    if one == other:
        return True
    blocks, spelled = (one, other) if one.isdigit() else (other, one)
    found = _AMOUNT.fullmatch(spelled)
    if not blocks.isdigit() or found is None or not found[3] or len(one + other) > _LONGEST:
        return False
    whole, decimals, unit = found[1], found[2] or b"", b"KMGTPE".index(found[3])
    return int(whole + decimals) << (10 * unit) == int(blocks) * int(b"1" + b"0" * len(decimals))
