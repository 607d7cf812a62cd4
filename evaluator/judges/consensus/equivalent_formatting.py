"""One answer in two presentations: what a command prints around an answer, and spellings of paths and sizes.

The references of a task teach which layouts are the same, but only those that they use. Here stands what needs no
teaching: what a reader of the question knows already (numbers of lines, words of the question, a sum of what
stands above it), and paths and sizes whose two spellings are equal without rounding. All of it is looked at only
where every field of the answer is compared and equal, row by row, and none where the task asks for a form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from evaluator.judges.consensus.nondeterministic import Text
from evaluator.judges.consensus.rows import table_of

Fields = tuple[bytes, ...]
"""The fields of one row, in the order printed."""

_FORM: Final = re.compile(
    r"\b(only|just|without|not?|alone|omit\w*|suppress\w*|exclud\w*|hid(e|ing)|bare|plain|exact\w*|format\w*"
    r"|head(er|ing)s?|titles?|prefix\w*|label\w*|preced\w*|numbered|numbering|line numbers?|quot\w+|spell\w*)\b",
    re.IGNORECASE,
)
"""Words of a task that asks for a form, or for something to be left out: then nothing here is decoration."""

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
"""Rows that must count up before their first fields are taken for line numbers: a lone `1` may be a count."""


class FormatContext(NamedTuple):
    """What a presentation is seen against: the words of the task, and the folder that relative paths start from."""

    words: str
    cwd: bytes


def is_presentation(candidate: Text, reference: Text, asked: FormatContext) -> bool:
    """True where both texts give one answer and differ only in what is said above. Never of volatile fields."""
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
    """The candidate's rows as they are, without line numbers, and without a sum."""
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
    """The text without the numbers of its lines, None where they do not count up from 1, line by line.

    Such a number says where a line stands and nothing of what it says, so every line of a wrong answer stays
    as wrong. Counts (`uniq -c`) and numbers of lines in a longer file (`grep -n`) do not go up by one from 1.
    A line without any text, which `nl` does not count, may stand between.
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
    """True where the last of three rows or more is `N total` and N the sum of the others' first fields.

    `wc` and `du -c` print it. It follows from the rows above, which are all compared: another set of rows, or
    other numbers in them, stays another.
    """
    if len(rows) < LEAST_NUMBERED or len(rows[-1]) != 2 or rows[-1][1] != b"total":
        return False
    amounts = [row[0] for row in rows]
    return all(amount.isdigit() for amount in amounts) and sum(map(int, amounts[:-1])) == int(amounts[-1])


def is_labelled(ours: Fields, theirs: Fields, words: str) -> bool:
    """True for one row that says what the other says, with words of the question or without a name from it.

    `11 directories` is `11` where directories are asked for, and `11` is `11 notes.txt` where the question names
    that file and no other. A near miss gives another value, or a value more, which no question contains; words
    are of letters alone, so neither a number nor a path is taken for one, and where a question names two files
    the name is the answer.
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
    """`a/b` for `/home/me/a/b` where commands start in `/home/me` (that directory itself stays what it is).

    Both name one file, whatever it is; a near miss names another, and a path outside of the directory keeps its
    beginning. `./a/b` is not taken for it by `is_presentation`: it comes from a search that began in the directory
    itself, which is wider than one that began in `a`.
    """
    start = cwd.rstrip(b"/") + b"/"
    return field[len(start) :] if field.startswith(start) and len(field) > len(start) else field


def _without_titles(rows: Sequence[Fields]) -> list[Fields]:
    """Rows without the line of titles of `df`, which names units that the amounts below are compared with."""
    kept = [row for row in rows if not _DISK_TITLES.fullmatch(b" ".join(row))]
    return kept if len(kept) == len(rows) - 1 else list(rows)


def same_amounts(ours: Sequence[Fields], theirs: Sequence[Fields]) -> bool:
    """True where rows differ in whether blocks of 1,024 bytes are counted in their number or in larger units.

    `80K` is `80` where `du`, `df` and `ls -s` count, and so is all that is no amount, by which the rows are told
    apart. What is rounded is not equal (`1.5M` is 1,536 blocks and no other number), so a near miss that measures
    something else differs. Bytes are not compared with units: `4.0K` may be 4,090 of them, rounded up.
    """
    left, right = _by_words(ours), _by_words(theirs)
    if left is None or right is None or left.keys() != right.keys() or not left:
        return False
    return all(
        len(row) == len(right[words]) and all(map(_is_same_amount, row, right[words])) for words, row in left.items()
    )


def _by_words(rows: Sequence[Fields]) -> dict[Fields, Fields] | None:
    """The amounts of each row by its other fields; None where two rows have the same others."""
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
