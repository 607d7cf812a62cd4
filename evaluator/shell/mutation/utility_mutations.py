"""Mutate calls of specific utilities: replace the utility, flags, modes, signals, names, dates or formats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from evaluator.shell.mutation.flags import flags_of, means_something
from evaluator.shell.mutation.script import CallSite, Edit, Edits, Script, SourceWord

_OTHER: Final[Mapping[str, str]] = {
    "head": "tail", "tail": "head", "cp": "mv", "mv": "cp", "dirname": "basename", "basename": "dirname",
    "chown": "chgrp", "chgrp": "chown", "zcat": "cat", "zgrep": "grep", "gzip": "bzip2", "pkill": "pgrep",
    "comm": "diff",
}  # fmt: skip
"""Pairs of utilities that people confuse."""

_ADDED: Final[Mapping[str, str]] = {
    "grep": "iv", "sort": "ru", "zgrep": "i", "uniq": "i", "ls": "A", "cp": "r", "wc": "c",
}  # fmt: skip
"""Flags that people add out of habit."""

_LETTERS: Final[Mapping[str, Mapping[str, str]]] = {
    "uniq": {"d": "uD", "D": "d"},
    "wc": {"l": "wc", "c": "l"},
    "comm": {"2": "1", "3": "1"},
    "grep": {"c": "ol", "l": "L", "L": "l", "x": "w", "F": "E", "E": "F", "o": "c"},
    "sort": {"V": "n", "n": "V"},
    "cut": {"c": "f", "f": "c"},
    "ls": {"t": "S"},
    "pgrep": {"u": "g", "x": "f"},
    "pkill": {"u": "g", "x": "f", "f": "x", "P": "g"},
}
"""Flag letters that people confuse, by utility."""

_SIGNALS: Final[Mapping[str, tuple[str, ...]]] = {
    "HUP": ("TERM", "USR1"), "TERM": ("HUP", "KILL"), "KILL": ("TERM",), "9": ("15",), "INT": ("TERM",),
    "USR1": ("HUP",),
}  # fmt: skip
_SYMBOLIC: Final = re.compile(r"([ugoa]*)([-+=])([rwxXst]*)(?:,|\Z)")
_OCTAL: Final = re.compile(r"[0-7]{3,4}\Z")
_BIT: Final[Mapping[str, str]] = {"7": "5", "6": "4", "5": "7", "4": "6", "0": "4", "2": "6", "1": "0", "3": "7"}
_DATES: Final[Mapping[str, tuple[str, ...]]] = {
    "yesterday": ("today",),
    "today": ("yesterday", "now"),
    "tomorrow": ("today",),
}
_FORMATS: Final[Mapping[str, str]] = {
    "%p": "%f", "%P": "%p", "%f": "%p", "%U": "%G", "%G": "%U", "%u": "%g", "%a": "%A", "%s": "%b", "%h": "%p",
    "%T@": "%A@", "%y": "%x", "%H": "%I",
}  # fmt: skip
_FORMATTED: Final = frozenset({"find", "stat", "date"})
_KEY: Final = re.compile(r"(\d+(?:\.\d+)?)(?:,(\d+))?([a-zA-Z]*)\Z")
_SETS: Final[Mapping[str, str]] = {"[:upper:]": "[:lower:]", "[:lower:]": "[:upper:]", "A-Z": "a-z", "a-z": "A-Z"}


def changes_of_utilities(script: Script) -> Iterator[Edits]:
    """Yield the changes to each call in a command that depend on the called utility, such as from `head` to `tail`."""
    for call in script.calls:
        end = call.program.end
        if call.name in _OTHER:
            yield Edits("utility", (Edit(call.program.start, end, _OTHER[call.name]),))
        letters = {flag.name for flag in flags_of(script.text, call)}
        for letter in _ADDED.get(call.name, ""):
            if f"-{letter}" not in letters and not _is_idle(call, letter):
                yield Edits("add-flag", (Edit(end, end, f" -{letter}"),))
        yield from _letters(script.text, call)
        yield from _signals(call)
        yield from _modes(call)
        yield from _owners(call)
        for word in call.words:
            yield from _dates(word)
            if call.name in _FORMATTED:
                yield from _formats(word)
        if call.name == "sort":
            yield from _keys(call)
        if call.name == "tr":
            yield from _sets(call)


def _is_idle(call: CallSite, letter: str) -> bool:
    """Return whether the flag `letter` would have little effect if it were added to a call.

    This is only so for `-i` (ignore case) with a pattern of single letters, such as `.*a[0-9]`.
    """
    operand = next((word for word in call.words if not word.raw.startswith("-")), None)
    return letter == "i" and operand is not None and not re.search(r"[A-Za-z]{2}", operand.raw)


def _letters(text: str, call: CallSite) -> Iterator[Edits]:
    """Yield changes to a call that replace a flag by one that people confuse with it, such as `wc -l` by `wc -c`."""
    for flag in flags_of(text, call):
        at = text.find(flag.name[-1], flag.edit.start)
        if call.name == "grep" and flag.name in ("-E", "-F") and not means_something(call, "\\^$.*[|?+(){}"):
            continue
        for letter in _LETTERS.get(call.name, {}).get(flag.name[1:], ""):
            yield Edits("swap-flag", (Edit(at, at + 1, letter),))


def _signals(call: CallSite) -> Iterator[Edits]:
    if call.name not in ("kill", "pkill", "killall"):
        return
    for word in call.words:
        dash = word.raw.startswith("-")
        for other in _SIGNALS.get(word.raw[dash:], ()):
            yield Edits("signal", (Edit(word.start + dash, word.end, other),))
        if dash and word.raw[1:] in _SIGNALS:
            yield Edits("signal", (Edit(word.start - 1, word.end),))


def _modes(call: CallSite) -> Iterator[Edits]:
    """Yield changes to one part of a file mode: an octal digit, or the user, sign or permission of a symbolic mode."""
    if call.name not in ("chmod", "install", "mkdir", "umask", "find"):
        return
    for word in call.words:
        octal, offset = word.raw.lstrip("-/+"), len(word.raw) - len(word.raw.lstrip("-/+"))
        if _OCTAL.match(octal):
            for position, digit in enumerate(octal, offset):
                yield Edits("mode", (word.edit((position, position + 1), _BIT[digit]),))
        elif call.name in ("chmod", "umask") and word.is_plain and _SYMBOLIC.match(word.raw):
            yield from _symbolic(word)


def _symbolic(word: SourceWord) -> Iterator[Edits]:
    for match in _SYMBOLIC.finditer(word.raw):
        for other in {"u": "ga", "g": "o", "go": "ga", "a": "u", "o": "g", "": "u"}.get(match[1], ""):
            yield Edits("mode", (word.edit(match.span(1), other),))
        for sign in "-+=".replace(match[2], ""):
            yield Edits("mode", (word.edit(match.span(2), sign),))
        for position in range(match.start(3), match.end(3)):
            yield Edits("mode", (word.edit((position, position + 1)),))
        if "X" in match[3]:
            at = match.start(3) + match[3].index("X")
            yield Edits("mode", (word.edit((at, at + 1), "x"),))


def _owners(call: CallSite) -> Iterator[Edits]:
    """Yield mutations of a call of `chown` or `chgrp`. Each replaces a name by `root`, or appends `:` to an owner."""
    if call.name not in ("chown", "chgrp"):
        return
    for word in call.words:
        if re.fullmatch(r"[a-z]+", word.raw):
            yield Edits("name", (Edit(word.start, word.end, "root"),))
            if call.name == "chown":
                yield Edits("name", (Edit(word.end, word.end, ":"),))


def _dates(word: SourceWord) -> Iterator[Edits]:
    for match in re.finditer(r"\b(?:yesterday|today|tomorrow)\b", word.raw):
        for other in _DATES[match[0]]:
            yield Edits("date", (word.edit(match.span(), other),))


def _formats(word: SourceWord) -> Iterator[Edits]:
    for match in re.finditer(r"%T@|%[a-zA-Z]", word.raw):
        other = _FORMATS.get(match[0])
        if other is not None:
            yield Edits("format", (word.edit(match.span(), other),))


def _keys(call: CallSite) -> Iterator[Edits]:
    """Yield changes to a key of `sort`, such as `-k2,2n`. They remove an option letter, or the end field (here `,2`).

    The end field of the last key stays. Without it, the order would rarely change, because `sort` compares the whole
    lines if all keys are equal.
    """
    last = max((word.start for word in call.words if _KEY.match(word.raw.removeprefix("-k"))), default=0)
    for word in call.words:
        key = _KEY.match(word.raw.removeprefix("-k"))
        if key is None or not word.is_plain:
            continue
        offset = len(word.raw) - len(key[0])
        for position in range(offset + key.start(3), offset + key.end(3)):
            yield Edits("sort-key", (word.edit((position, position + 1)),))
        if key[2] and word.start != last:
            yield Edits("sort-key", (word.edit((offset + key.end(1), offset + key.end(2))),))


def _sets(call: CallSite) -> Iterator[Edits]:
    """Yield a change that swaps the two sets of characters in a call of `tr`."""
    words = [word for word in call.words if not word.raw.startswith("-")]
    if len(words) == 2:
        first, second = words
        yield Edits("swap-sets", (Edit(first.start, first.end, second.raw), Edit(second.start, second.end, first.raw)))
