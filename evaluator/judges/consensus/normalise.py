"""Map equivalent spellings of output to one spelling. Spellings differ in colour, trailing blanks, `./` or sizes.

Each function maps two texts to the same text only if they have the same meaning. The docstring of a function explains
why the output of a wrong command still differs. Every function keeps distinctions such as rounding, case, order of
letters, carriage returns or NULs. If a task asks for a particular spelling, the task's `output` is `exact`, and the
judge normalises nothing.
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
    """Return the line without the escape sequences for colour (SGR), and without "erase to the right".

    The utility `grep` prints both. All visible bytes stay, so the output of a wrong command still differs. Other escape
    sequences stay too, because a command could use them to overwrite or erase its wrong output.
    """
    return _COLOUR.sub(b"", line) if b"\x1b" in line else line


def without_trailing_blanks(line: bytes) -> bytes:
    """Return the line without trailing spaces and tabs.

    They are only padding, because no value ends in blanks. A carriage return stays, because some tasks convert line
    endings.
    """
    return line.rstrip(b" \t")


def without_dot_slash(field: bytes) -> bytes:
    """Return `x` for `./x`. Leave `.` and `./` unchanged.

    Both spellings name the same file in the same directory, and a wrong command names another file. `../x`, `.x` and
    `a/./x` stay unchanged.
    """
    return field[2:] if len(field) > 2 and field.startswith(b"./") else field


def without_final_slash(field: bytes) -> bytes:
    """Return `x` for `x/`. Leave `/` unchanged.

    The slash only shows that x is a directory. A wrong command prints another path, an extra path, or one path too few.
    """
    return field.rstrip(b"/") or field


def size_spelling(field: bytes) -> bytes:
    """Return `4K` for `4.0K`, `4Ki` and `4KiB`: the number without zero decimals, and the binary unit as one letter.

    Different sizes stay different, because the function keeps the number and the unit. It does not round or convert:
    `4K` is not `4096`, because `4.0K` may be a rounded size. Decimal units (`k`, `kB`, `KB`) stay unchanged, because
    they differ from binary units by 2.4 % or more.
    """
    if not field[:1].isdigit() or field[-1] not in _UNIT_ENDINGS:
        return field
    match = _SIZE.fullmatch(field)
    if match is None:
        return field
    decimals = (match[2] or b"").rstrip(b"0")
    return match[1] + (b"." + decimals if decimals else b"") + match[3]


def split_fields(line: bytes) -> list[bytes]:
    """Split a line into fields at blanks and tabs. The positions of nondeterministic fields refer to these fields."""
    return _FIELD.findall(line)


def row_fields(line: bytes) -> list[bytes]:
    """Return the line's normalised fields, in printed order.

    Colour and the width of blanks are lost, and equivalent spellings of a path or size become equal. All other
    differences stay. So a wrong command with another value, an extra value or a missing value still has other fields.
    """
    fields = split_fields(without_colour(line))
    return [
        size_spelling(without_dot_slash(without_final_slash(field)))
        if field[0] == _DOT or field[-1] in _ENDINGS
        else field
        for field in fields
    ]


def is_heading(line: bytes, following: bytes | None) -> bool:
    """Return whether the line is the heading `total N` of `ls -l`.

    The next row must begin with a file mode. For an empty list, the heading is `total 0` and no row follows. A sum that
    a task asks for is therefore not a heading, unless it is 0. The heading adds no information, because N counts the
    blocks of the rows below.
    """
    match = _HEADING.fullmatch(line)
    if match is None:
        return False
    return _LONG_ROW.match(following) is not None if following else match[1] == b"0"


def diagnostic(line: bytes) -> bytes:
    """Return a line of standard error without colour, trailing blanks and the line number of the script.

    `bash: line 3: x` and `bash: line 1: x` are the same message: only the line breaks in the script differ. The result
    keeps the message and the name of the program.
    """
    return _SHELL_LINE.sub(b"bash: ", without_trailing_blanks(without_colour(line)))
