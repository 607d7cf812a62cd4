"""Spellings of the same thing, made one: colour, trailing blanks, `./x` for `x`, sizes.

Each normaliser maps two texts onto one only where both say the same, and its docstring tells why a wrong
command cannot hide behind it. What would lose a distinction (rounding, case, order of letters, carriage
returns, NULs) is not done here. Where such a spelling is itself what a task asks for, the task's `output`
is `exact`, for which nothing is normalised.
"""

from __future__ import annotations

import re
from typing import Final

_COLOUR: Final = re.compile(rb"\x1b\[(?:[0-9;:]*m|K)")
_FIELD: Final = re.compile(rb"[^ \t]+")
_SIZE: Final = re.compile(rb"(\d+)(?:\.(\d+))?([KMGTPE])(?:iB|i)?")
_UNIT_ENDINGS: Final = frozenset(b"KMGTPEiB")
_DOT: Final = b"."[0]
_ENDINGS: Final = _UNIT_ENDINGS | {b"/"[0]}
_HEADING: Final = re.compile(rb"total (\d+(?:\.\d+)?[KMGTPE]?)[ \t]*")
_LONG_ROW: Final = re.compile(rb"[bcdlps-][r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-][.+@]?[ \t]")
_SHELL_LINE: Final = re.compile(rb"^bash: line \d+: ")


def without_colour(line: bytes) -> bytes:
    """The line without SGR sequences and the erase-to-the-right that `grep` prints beside them.

    A near miss differs in what it prints, not in how it is painted: every byte a reader sees stays. Other
    escape sequences, which move or wipe out text, are kept, so nothing can be hidden by printing over it.
    """
    return _COLOUR.sub(b"", line) if b"\x1b" in line else line


def without_trailing_blanks(line: bytes) -> bytes:
    """The line without blanks and tabs at its end.

    No value ends there, so none is lost: two lines become one only where they differ in padding. A carriage
    return stays, because whether a file has them is what conversions are about.
    """
    return line.rstrip(b" \t")


def without_dot_slash(field: bytes) -> bytes:
    """`x` for `./x` (`.` and `./` stay what they are).

    Both name the same file from the same directory, whatever x is; a near miss names another file, and
    `../x`, `.x` and `a/./x` are untouched.
    """
    return field[2:] if len(field) > 2 and field.startswith(b"./") else field


def without_final_slash(field: bytes) -> bytes:
    """`x` for `x/` (`/` stays what it is).

    The slash says that x is a folder, which it is or is not whatever is printed behind it; a near miss names
    another path, or one more or less.
    """
    return field.rstrip(b"/") or field


def size_spelling(field: bytes) -> bytes:
    """`4K` for `4.0K`, `4Ki` and `4KiB`: number without zero decimals, binary unit in one letter.

    Injective on number and unit, so another size stays another size. Nothing is rounded or converted
    (`4K` is not `4096`, which may be 4.0K rounded up), and decimal units (`k`, `kB`, `KB`), which differ
    from binary ones by 2.4 % and more, are not touched.
    """
    if not field[:1].isdigit() or field[-1] not in _UNIT_ENDINGS:
        return field
    found = _SIZE.fullmatch(field)
    if found is None:
        return field
    decimals = (found[2] or b"").rstrip(b"0")
    return found[1] + (b"." + decimals if decimals else b"") + found[3]


def split_fields(line: bytes) -> list[bytes]:
    """The line's fields as printed: what stands between blanks and tabs. Masks count fields as this does."""
    return _FIELD.findall(line)


def row_fields(line: bytes) -> list[bytes]:
    """The line's fields in their one spelling, in the order printed.

    Loses only colour, the width of blanks between fields, and the spellings above; a near miss that has
    another value, or a value more or less, keeps other fields.
    """
    fields = split_fields(without_colour(line))
    return [
        size_spelling(without_dot_slash(without_final_slash(field)))
        if field[0] == _DOT or field[-1] in _ENDINGS
        else field
        for field in fields
    ]


def is_heading(line: bytes, following: bytes | None) -> bool:
    """True for the line `total N` that `ls -l` prints above its rows, or alone above none.

    N counts blocks of what the rows name, so a listing with other rows keeps its difference. It is a heading
    only before a row that begins with a mode, or as `total 0` before nothing: a sum that a task asks for has
    no such row below it, and is 0 only where nothing is there.
    """
    found = _HEADING.fullmatch(line)
    if found is None:
        return False
    return _LONG_ROW.match(following) is not None if following else found[1] == b"0"


def diagnostic(line: bytes) -> bytes:
    """A line of standard error without colour, trailing blanks and the number of the script's line.

    `bash: line 3: x` and `bash: line 1: x` are one message from two layouts of a script; the message
    itself, and who says it, stay.
    """
    return _SHELL_LINE.sub(b"bash: ", without_trailing_blanks(without_colour(line)))
