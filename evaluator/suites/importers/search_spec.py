"""What a task's references look for, read from their structure: where, by which names, of which age, size and mode.

Of a search (`find`, `ls`, `du`, `tree`, `grep -r`, `diff -r`, a glob) its folders and everything it asks of what it
finds; of everything else the files it names and the words it looks for in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from evaluator.suites.importers.draft import Read, UtilityCall

DAY_S: Final = 86_400
USUAL_AGE_S: Final = 5400
"""Of what nothing is asked about: as old as the worlds' own files."""

_UNITS: Final = {"c": 1, "w": 2, "b": 512, "": 512, "k": 1024, "M": 1 << 20, "G": 1 << 30}
LARGEST: Final = 64 << 20
"""Bytes of the largest file that is made; beyond, worlds would not fit beside each other."""

_SIZE: Final = re.compile(r"([+-]?)(\d+)([cwbkMG]?)")
_AGE: Final = re.compile(r"([+-]?)(\d+)")
_AGES: Final = {"-mtime": DAY_S, "-atime": DAY_S, "-mmin": 60, "-amin": 60}
_MODE: Final = re.compile(r"[-/]?([0-7]{3,4})")
_NAMES: Final = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_LISTS: Final = frozenset({"find", "ls", "du", "tree"})
_SEARCHES: Final = frozenset({"grep", "egrep", "fgrep", "rgrep"})
_PROGRAMS: Final = frozenset({"awk", "gawk", "sed", "perl"})
_NOT_OURS: Final = re.compile(r"[-~]|.*\.\.|/+(?:proc|sys|dev|run|bin|sbin|lib|lib64|usr|boot)(?:/|\Z)")
_RECURSIVE: Final = frozenset({"-r", "-R", "--recursive", "-a", "-rf"})
_OF_FOLDERS: Final = frozenset({"diff", "tar", "zip", "rsync", "rm", "cp", "mv", "chmod", "chown", "chgrp"})
_TARGET: Final = re.compile(r"(?<![<>&|\d])>>?\s*(/?[\w./-]+)")
_PATTERN: Final = re.compile(r"/((?:[^/\\]|\\.)+)/")
_LITERAL: Final = re.compile(r"[A-Za-z][\w ]*\w|\w+")
_PATH: Final = re.compile(r"[\w./~+-][\w./+ ~-]*|/")
_LENGTH: Final = re.compile(r"(?<![\w.])(\d{2,3})(?![\w.])")
_NUMBERED: Final = frozenset({"fold", "fmt", "cut", "awk", "gawk", "grep", "egrep", "head", "tail", "sed"})


@dataclass(frozen=True, slots=True)
class NumberPredicate:
    """A predicate on a number: `value`, rounded to units (up for sizes, down for ages), compared by `sign`."""

    sign: str
    count: int
    unit: int
    up: bool

    def holds(self, value: int) -> bool:
        """Whether a size in bytes, or an age in seconds, fulfils it."""
        units = ceil(value / self.unit) if self.up else value // self.unit
        return (
            units > self.count if self.sign == "+" else units < self.count if self.sign == "-" else units == self.count
        )

    def edges(self) -> Iterator[int]:
        """Values on both sides of where it begins and ends to hold, and of where one unit more or less would."""
        for count in (self.count - 1, self.count, self.count + 1):
            if self.up:
                yield from (max(0, count * self.unit), max(0, count * self.unit + 1))
            else:
                yield max(60, count * self.unit + self.unit // 2)


@dataclass(frozen=True, slots=True)
class SearchSpec:
    """Where one utility looks, and what it asks of what it finds there.

    `kind` is a letter of `find -type`, `beside` are files whose ages others are compared with, and `disk` tells that
    sizes are asked for, however they are.
    """

    roots: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    kind: str = "f"
    sizes: tuple[NumberPredicate, ...] = ()
    ages: tuple[NumberPredicate, ...] = ()
    modes: tuple[int, ...] = ()
    beside: tuple[str, ...] = ()
    disk: bool = False

    @property
    def size(self) -> int | None:
        """A size in bytes that fulfils everything asked of sizes, None where nothing is or nothing does."""
        return _fulfilling(self.sizes, ()) if self.sizes else None

    @property
    def age_s(self) -> int:
        """An age in seconds that fulfils everything asked of ages, as far as one does."""
        found = _fulfilling(self.ages, (USUAL_AGE_S,))
        return USUAL_AGE_S if found is None else found


@dataclass(frozen=True, slots=True)
class TaskSearches:
    """What all references of a task look for together; `targets` are files that they print to."""

    searches: tuple[SearchSpec, ...]
    files: tuple[str, ...]
    targets: tuple[str, ...]
    words: tuple[str, ...]
    lengths: tuple[int, ...]


def _fulfilling(bounds: Sequence[NumberPredicate], first: Sequence[int]) -> int | None:
    edges = sorted({edge for bound in bounds for edge in bound.edges()}, reverse=True)
    further = [bound.unit * (bound.count + 3) for bound in bounds if bound.sign == "+"]
    values = (*first, *further, *(edge for edge in edges if edge), 0)
    return next((each for each in values if all(bound.holds(each) for bound in bounds) and each <= LARGEST), None)


def wants_of(references: Sequence[bytes], read: Read) -> TaskSearches:
    """What these references look for; nothing where they are unreadable."""
    utilities = [each for command in references for one in read(command) or () for each in one.walk()]
    disk = any(_asks_sizes(each) for each in utilities)
    searches = dict.fromkeys(replace(search, disk=disk) for each in utilities if (search := _search(each)))
    files = dict.fromkeys(path for each in utilities if each.name not in _LISTS for path in _files(each))
    words = dict.fromkeys(word for each in utilities for word in _words(each))
    lengths = dict.fromkeys(length for each in utilities for length in _lengths(each))
    texts = [command.decode(errors="replace") for command in references]
    targets = dict.fromkeys(each for text in texts for each in _TARGET.findall(text) if _is_ours(each))
    return TaskSearches(tuple(searches), tuple(files), tuple(targets), tuple(words)[:4], tuple(lengths)[:3])


def _asks_sizes(utility: UtilityCall) -> bool:
    given = {name for name, _ in utility.flags}
    return utility.name == "du" or "-size" in given or (utility.name == "ls" and bool(given & {"-s", "-S"}))


def _search(utility: UtilityCall) -> SearchSpec | None:
    if utility.name != "find":
        return _plain_search(utility)
    flags = [(name, value) for name, value in utility.flags]
    roots = tuple(each for each in utility.arguments if _is_ours(each) and "*" not in each) or (".",)
    globs = [glob for each in utility.arguments if (glob := _glob(each))]
    names = [value for name, value in flags if name in _NAMES]
    return SearchSpec(
        roots=tuple(dict.fromkeys((*(root for root, _ in globs), *(each for each in roots if not globs)))),
        patterns=tuple(dict.fromkeys((*names, *(name for _, name in globs)))),
        kind=next((value[:1] for name, value in flags if name == "-type" and value[:1] in "fdl"), "f"),
        sizes=tuple(_bound(_SIZE, value) for name, value in flags if name == "-size" and _SIZE.fullmatch(value)),
        ages=tuple(_age(name, value) for name, value in flags if name in _AGES and _AGE.fullmatch(value)),
        modes=tuple(int(found[1], 8) for name, value in flags if name == "-perm" and (found := _MODE.fullmatch(value))),
        beside=tuple(value for name, value in flags if name in ("-newer", "-anewer") and _is_ours(value)),
    )


def _plain_search(utility: UtilityCall) -> SearchSpec | None:
    """Of a utility that takes folders as operands; whether they are folders is seen when the world is built."""
    globs = [glob for each in utility.arguments if (glob := _glob(each))]
    if globs:
        roots, names = zip(*globs, strict=True)
        return SearchSpec(tuple(dict.fromkeys(roots)), tuple(dict.fromkeys(names)))
    recursive = utility.name in _SEARCHES and {name for name, _ in utility.flags} & _RECURSIVE
    if not recursive and utility.name not in _LISTS | _OF_FOLDERS:
        return None
    operands = utility.arguments[1:] if _pattern_first(utility) else utility.arguments
    roots = tuple(each for each in operands if _is_ours(each))
    if not roots and utility.name in _LISTS and not utility.arguments:
        roots = (".",)
    include = tuple(value.strip("'\"") for name, value in utility.flags if name == "--include")
    return SearchSpec(roots, include) if roots else None


def _glob(operand: str) -> tuple[str, str] | None:
    """The folder and the pattern of a path whose last part is a pattern."""
    folder, _, name = operand.rpartition("/")
    if not any(letter in name for letter in "*?") or "$" in operand or " " in name or "(" in operand:
        return None
    root = folder or ("/" if operand.startswith("/") else ".")
    return (root, name) if _is_ours(root) else None


def _files(utility: UtilityCall) -> Iterator[str]:
    operands = utility.arguments[1:] if _pattern_first(utility) else utility.arguments
    yield from (each for each in operands if _is_ours(each) and re.search(r"[\w]", each))


def _pattern_first(utility: UtilityCall) -> bool:
    given = {name for name, _ in utility.flags}
    return utility.name in _SEARCHES | _PROGRAMS and not given & {"-e", "-f", "--regexp", "--file"}


def _words(utility: UtilityCall) -> Iterator[str]:
    """Literal words that a utility looks for in text."""
    texts: list[str] = []
    if utility.name in _SEARCHES:
        texts = [value for name, value in utility.flags if name in ("-e", "--regexp")] or list(utility.arguments[:1])
    elif utility.name in _PROGRAMS:
        programs = [value for name, value in utility.flags if name == "-e"] or utility.arguments[:1]
        texts = [found for program in programs for found in _PATTERN.findall(program)[:2]]
        texts += [found[1] for program in programs if (found := re.match(r"s([|,#])(.+?)\1", program))]
    for text in texts:
        literals = _LITERAL.findall(re.sub(r"\[:\w+:\]|\\[a-zA-Z<>]", " ", text))
        yield from sorted(literals, key=len)[-1:]


def _lengths(utility: UtilityCall) -> Iterator[int]:
    if utility.name in _NUMBERED:
        texts = (*utility.arguments[:1], *(value for _, value in utility.flags))
        yield from (int(each) for text in texts for each in _LENGTH.findall(text) if 5 <= int(each) <= 200)


def _bound(pattern: re.Pattern[str], value: str) -> NumberPredicate:
    found = pattern.fullmatch(value)
    assert found is not None  # noqa: S101 - the caller looked
    return NumberPredicate(found[1], int(found[2]), _UNITS[found[3]], up=True)


def _age(name: str, value: str) -> NumberPredicate:
    sign = value[0] if value[0] in "+-" else ""
    return NumberPredicate(sign, int(value.lstrip("+-")), _AGES[name], up=False)


def _is_ours(path: str) -> bool:
    """A path that may be written to; what expands is not known before it is run."""
    return bool(_PATH.fullmatch(path)) and not _NOT_OURS.match(path)
