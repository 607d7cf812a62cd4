"""This module reads the searches in a task's references: the searched folders, and the requested properties.

A search (`find`, `ls`, `du`, `tree`, `grep -r`, `diff -r`, a glob) has folders and predicates on names, ages, sizes and
modes. For any other command, the module returns the names of its files and the words that the command looks for.
Commands are parsed, not executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from evaluator.suites.importers.draft import CommandReader, UtilityCall

DAY_S: Final = 86_400
USUAL_AGE_S: Final = 5400
"""The age in seconds of objects without a requested age. The other files of a world have the same age."""

_UNITS: Final = {"c": 1, "w": 2, "b": 512, "": 512, "k": 1024, "M": 1 << 20, "G": 1 << 30}
LARGEST: Final = 64 << 20
"""The maximum size in bytes of a new file. Larger files would not fit on the disk together with other worlds."""

_SIZE: Final = re.compile(r"([+-]?)(\d+)([cwbkMG]?)")
_AGE: Final = re.compile(r"([+-]?)(\d+)")
_AGES: Final = {"-mtime": DAY_S, "-atime": DAY_S, "-mmin": 60, "-amin": 60}
_MODE: Final = re.compile(r"[-/]?([0-7]{3,4})")
_NAMES: Final = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_LISTS: Final = frozenset({"find", "ls", "du", "tree"})
_SEARCHES: Final = frozenset({"grep", "egrep", "fgrep", "rgrep"})
_PROGRAMS: Final = frozenset({"awk", "gawk", "sed", "perl"})
_NOT_WRITABLE: Final = re.compile(r"[-~]|.*\.\.|/+(?:proc|sys|dev|run|bin|sbin|lib|lib64|usr|boot)(?:/|\Z)")
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
    """A predicate of `find` on a size or an age. Before a comparison, `find` rounds sizes up and ages down to units."""

    sign: str
    count: int
    unit: int
    up: bool

    def holds(self, value: int) -> bool:
        """Return whether a size in bytes, or an age in seconds, satisfies the predicate."""
        units = ceil(value / self.unit) if self.up else value // self.unit
        return (
            units > self.count if self.sign == "+" else units < self.count if self.sign == "-" else units == self.count
        )

    def edges(self) -> Iterator[int]:
        """Yield sizes or ages near `count - 1`, `count` and `count + 1` units, to test the limits of the predicate."""
        for count in (self.count - 1, self.count, self.count + 1):
            if self.up:
                yield from (max(0, count * self.unit), max(0, count * self.unit + 1))
            else:
                yield max(60, count * self.unit + self.unit // 2)


@dataclass(frozen=True, slots=True)
class SearchSpec:
    """The folders that one utility searches, and the properties of the objects that it searches for.

    `kind` is a letter of `find -type`. `beside` holds the operands of `find -newer`. `disk` is true if a reference asks
    for sizes.
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
        """A size in bytes that satisfies all size predicates, or None if there is no such size or no predicate."""
        return _satisfying(self.sizes, ()) if self.sizes else None

    @property
    def age_s(self) -> int:
        """An age in seconds that satisfies all age predicates. If no age satisfies them, it is 90 minutes."""
        age = _satisfying(self.ages, (USUAL_AGE_S,))
        return USUAL_AGE_S if age is None else age


@dataclass(frozen=True, slots=True)
class TaskSearches:
    """The searches of all references of a task. `targets` are the files to which the references redirect output."""

    searches: tuple[SearchSpec, ...]
    files: tuple[str, ...]
    targets: tuple[str, ...]
    words: tuple[str, ...]
    lengths: tuple[int, ...]


def _satisfying(bounds: Sequence[NumberPredicate], first: Sequence[int]) -> int | None:
    edges = sorted({edge for bound in bounds for edge in bound.edges()}, reverse=True)
    further = [bound.unit * (bound.count + 3) for bound in bounds if bound.sign == "+"]
    values = (*first, *further, *(edge for edge in edges if edge), 0)
    return next((value for value in values if all(bound.holds(value) for bound in bounds) and value <= LARGEST), None)


def task_searches(references: Sequence[bytes], read: CommandReader) -> TaskSearches:
    """Return the searches of these references. A reference that cannot be parsed adds no search."""
    utilities = [utility for command in references for call in read(command) or () for utility in call.walk()]
    disk = any(_asks_sizes(utility) for utility in utilities)
    searches = dict.fromkeys(replace(search, disk=disk) for utility in utilities if (search := _search(utility)))
    files = dict.fromkeys(path for utility in utilities if utility.name not in _LISTS for path in _files(utility))
    words = dict.fromkeys(word for utility in utilities for word in _words(utility))
    lengths = dict.fromkeys(length for utility in utilities for length in _lengths(utility))
    texts = [command.decode(errors="replace") for command in references]
    targets = dict.fromkeys(path for text in texts for path in _TARGET.findall(text) if _is_writable(path))
    return TaskSearches(tuple(searches), tuple(files), tuple(targets), tuple(words)[:4], tuple(lengths)[:3])


def _asks_sizes(utility: UtilityCall) -> bool:
    options = {name for name, _ in utility.flags}
    return utility.name == "du" or "-size" in options or (utility.name == "ls" and bool(options & {"-s", "-S"}))


def _search(utility: UtilityCall) -> SearchSpec | None:
    if utility.name != "find":
        return _plain_search(utility)
    flags = [(name, value) for name, value in utility.flags]
    roots = tuple(path for path in utility.arguments if _is_writable(path) and "*" not in path) or (".",)
    globs = [glob for operand in utility.arguments if (glob := _glob(operand))]
    names = [value for name, value in flags if name in _NAMES]
    return SearchSpec(
        roots=tuple(dict.fromkeys((*(root for root, _ in globs), *(() if globs else roots)))),
        patterns=tuple(dict.fromkeys((*names, *(name for _, name in globs)))),
        kind=next((value[:1] for name, value in flags if name == "-type" and value[:1] in "fdl"), "f"),
        sizes=tuple(_bound(_SIZE, value) for name, value in flags if name == "-size" and _SIZE.fullmatch(value)),
        ages=tuple(_age(name, value) for name, value in flags if name in _AGES and _AGE.fullmatch(value)),
        modes=tuple(int(match[1], 8) for name, value in flags if name == "-perm" and (match := _MODE.fullmatch(value))),
        beside=tuple(value for name, value in flags if name in ("-newer", "-anewer") and _is_writable(value)),
    )


def _plain_search(utility: UtilityCall) -> SearchSpec | None:
    """Return the search of a utility other than `find`, or None if it does not search.

    The searched operands may turn out to be files instead of folders.
    """
    globs = [glob for operand in utility.arguments if (glob := _glob(operand))]
    if globs:
        roots, names = zip(*globs, strict=True)
        return SearchSpec(tuple(dict.fromkeys(roots)), tuple(dict.fromkeys(names)))
    recursive = utility.name in _SEARCHES and {name for name, _ in utility.flags} & _RECURSIVE
    if not recursive and utility.name not in _LISTS | _OF_FOLDERS:
        return None
    operands = utility.arguments[1:] if _pattern_first(utility) else utility.arguments
    roots = tuple(path for path in operands if _is_writable(path))
    if not roots and utility.name in _LISTS and not utility.arguments:
        roots = (".",)
    include = tuple(value.strip("'\"") for name, value in utility.flags if name == "--include")
    return SearchSpec(roots, include) if roots else None


def _glob(operand: str) -> tuple[str, str] | None:
    """Return the folder and the pattern of a path whose last part is a pattern. Return None for other paths."""
    folder, _, name = operand.rpartition("/")
    if not any(letter in name for letter in "*?") or "$" in operand or " " in name or "(" in operand:
        return None
    root = folder or ("/" if operand.startswith("/") else ".")
    return (root, name) if _is_writable(root) else None


def _files(utility: UtilityCall) -> Iterator[str]:
    operands = utility.arguments[1:] if _pattern_first(utility) else utility.arguments
    yield from (path for path in operands if _is_writable(path) and re.search(r"[\w]", path))


def _pattern_first(utility: UtilityCall) -> bool:
    options = {name for name, _ in utility.flags}
    return utility.name in _SEARCHES | _PROGRAMS and not options & {"-e", "-f", "--regexp", "--file"}


def _words(utility: UtilityCall) -> Iterator[str]:
    """Yield the literal words that a utility searches for in text."""
    texts: list[str] = []
    if utility.name in _SEARCHES:
        texts = [value for name, value in utility.flags if name in ("-e", "--regexp")] or list(utility.arguments[:1])
    elif utility.name in _PROGRAMS:
        programs = [value for name, value in utility.flags if name == "-e"] or utility.arguments[:1]
        texts = [pattern for program in programs for pattern in _PATTERN.findall(program)[:2]]
        texts += [match[1] for program in programs if (match := re.match(r"s([|,#])(.+?)\1", program))]
    for text in texts:
        literals = _LITERAL.findall(re.sub(r"\[:\w+:\]|\\[a-zA-Z<>]", " ", text))
        yield from sorted(literals, key=len)[-1:]


def _lengths(utility: UtilityCall) -> Iterator[int]:
    if utility.name in _NUMBERED:
        texts = (*utility.arguments[:1], *(value for _, value in utility.flags))
        yield from (int(digits) for text in texts for digits in _LENGTH.findall(text) if 5 <= int(digits) <= 200)


def _bound(pattern: re.Pattern[str], value: str) -> NumberPredicate:
    match = pattern.fullmatch(value)
    assert match is not None  # noqa: S101 - the caller has checked
    return NumberPredicate(match[1], int(match[2]), _UNITS[match[3]], up=True)


def _age(name: str, value: str) -> NumberPredicate:
    sign = value[0] if value[0] in "+-" else ""
    return NumberPredicate(sign, int(value.lstrip("+-")), _AGES[name], up=False)


def _is_writable(path: str) -> bool:
    """Return whether the set-up may write to a path: it has no expansion or `..`, and is in no system folder."""
    return bool(_PATH.fullmatch(path)) and not _NOT_WRITABLE.match(path)
