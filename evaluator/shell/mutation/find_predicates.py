"""Mutate calls of `find`: remove or change predicates, negations, groups, types, signs, sizes and times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from evaluator.shell.mutation.script import CallSite, Edit, Edits, Script, SourceWord, removal
from evaluator.shell.options import option_table
from evaluator.shell.utilities import EXECUTORS

_ACTIONS: Final = frozenset({"-print", "-print0", "-printf", "-fprint", "-delete", "-ls", *EXECUTORS})
_NEGATIONS: Final = frozenset({"!", "-not", r"\!", "'!'"})
_OPENING: Final = frozenset({r"\(", "'('", '"("'})
_CLOSING: Final = frozenset({r"\)", "')'", '")"'})
_OR: Final = frozenset({"-o", "-or"})
_SIGNED: Final = frozenset({
    "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-links", "-perm", "-uid", "-gid", "-used"
})  # fmt: skip
_RENAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "-name": ("-iname",), "-iname": ("-name",), "-path": ("-name",), "-regex": ("-iregex",),
    "-mtime": ("-mmin", "-atime"),
    "-mmin": ("-mtime", "-amin"), "-newer": ("-anewer",), "-user": ("-group",), "-group": ("-user",),
    "-xtype": ("-type",),
    "-newermt": ("-newerat",), "-maxdepth": ("-mindepth",), "-mindepth": ("-maxdepth",), "-readable": ("-writable",),
}  # fmt: skip
_TYPES: Final[Mapping[str, tuple[str, ...]]] = {"f": ("d", "l"), "d": ("f",), "l": ("f",)}
_SIZE: Final = re.compile(r"[+-]?\d+[cwbkMG]\Z")
_SIGNED_VALUE: Final = re.compile(r"['\"]?([-+/]?)(?=[0-7a-z])")


class Predicate(NamedTuple):
    """A test, action or option of `find`, such as `! -name '*.c'`, with its negation (if any) and its values."""

    name: str
    words: tuple[SourceWord, ...]
    negation: SourceWord | None

    @property
    def start(self) -> int:
        """Return the position at which the predicate starts in the command, with its negation if there is one."""
        return self.negation.start if self.negation else self.words[0].start

    @property
    def end(self) -> int:
        """Return the position at which the predicate ends in the command, after its last value."""
        return self.words[-1].end


def changes_of_find(script: Script) -> Iterator[Edits]:
    """Yield every change to every call of `find` in a command."""
    for call in script.calls:
        if call.name == "find":
            yield from _start(call)
            predicates = list(_predicates(call.words))
            for predicate in predicates:
                yield from _predicate(script, call, predicate)
            yield from _groups(script, call.words)


def _predicates(words: Sequence[SourceWord]) -> Iterator[Predicate]:
    arity = option_table()["find"].words
    at, negation = 0, None
    while at < len(words):
        raw = words[at].raw
        count = 1
        if raw in _NEGATIONS:
            negation = words[at]
        elif raw in EXECUTORS:
            count += next((n for n, word in enumerate(words[at + 1 :], 1) if word.text in (";", "+")), 0)
            yield Predicate(raw, tuple(words[at : at + count]), negation)
        elif raw in arity:
            count += arity[raw]
            yield Predicate(raw, tuple(words[at : at + count]), negation)
        if raw not in _NEGATIONS:
            negation = None
        at += count


def _start(call: CallSite) -> Iterator[Edits]:
    """Yield a change that replaces the start folder of the search by its parent."""
    first = call.words[0] if call.words else None
    if first is None or first.raw.startswith(("-", "\\", "!")) or not first.is_plain or first.raw == ".":
        return
    parent = first.raw.rstrip("/").rpartition("/")[0] or "."
    yield Edits("path", (Edit(first.start, first.end, parent),))


def _predicate(script: Script, call: CallSite, predicate: Predicate) -> Iterator[Edits]:
    name, value = predicate.words[0], predicate.words[1] if len(predicate.words) == 2 else None
    if predicate.name not in _ACTIONS:
        yield Edits("drop-predicate", (_removal(script.text, call.words, predicate),))
    if predicate.negation is not None:
        yield Edits("drop-negation", (Edit(predicate.negation.start, name.start),))
    has_letters = value is None or re.search(r"[A-Za-z]", value.raw)
    for other in _RENAMED.get(predicate.name, ()) if has_letters or predicate.name not in ("-name", "-iname") else ():
        yield Edits("predicate", (Edit(name.start, name.end, other),))
    if value is None:
        return
    if predicate.name in ("-type", "-xtype"):
        for letter in _TYPES.get(value.raw, ()):
            yield Edits("type", (Edit(value.start, value.end, letter),))
    if predicate.name in _SIGNED:
        yield from _signs(predicate.name, value)
    if predicate.name == "-size" and _SIZE.match(value.raw):
        yield Edits("unit", (Edit(value.end - 1, value.end),))
    if predicate.name in ("-user", "-group") and value.is_plain:
        yield Edits("name", (Edit(value.start, value.end, "root"),))


def _removal(text: str, words: Sequence[SourceWord], predicate: Predicate) -> Edit:
    """Return an edit that removes a predicate, and the `-o` after or before the predicate if there is one."""
    first, last = predicate.negation or predicate.words[0], predicate.words[-1]
    before, after = words.index(first) - 1, words.index(last) + 1
    if after < len(words) and words[after].raw in _OR:
        return removal(text, predicate.start, words[after].end)
    if before >= 0 and words[before].raw in _OR:
        return removal(text, words[before].start, predicate.end)
    return removal(text, predicate.start, predicate.end)


def _signs(name: str, value: SourceWord) -> Iterator[Edits]:
    match = _SIGNED_VALUE.match(value.raw)
    if match is None:
        return
    signs = ("-", "/", "") if name == "-perm" else ("+", "-", "")
    for sign in signs:
        if sign != match[1]:
            yield Edits("sign", (value.edit(match.span(1), sign),))


def _groups(script: Script, words: Sequence[SourceWord]) -> Iterator[Edits]:
    """Yield changes that remove a pair of parentheses or one `-o`. Without `-o`, a file must match both predicates."""
    openings: list[SourceWord] = []
    for word in words:
        if word.raw in _OPENING:
            openings.append(word)
        elif word.raw in _CLOSING and openings:
            opening = openings.pop()
            edits = (removal(script.text, opening.start, opening.end), removal(script.text, word.start, word.end))
            yield Edits("drop-group", edits)
        elif word.raw in _OR:
            yield Edits("and-or", (removal(script.text, word.start, word.end),))
