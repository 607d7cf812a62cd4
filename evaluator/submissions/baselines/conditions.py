"""This module converts the conditions on files in an instruction ("larger than 10 MB") to predicates of `find`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

from evaluator.submissions.baselines.slots import NUMBER_WORDS, find_accounts, find_extension

_UNITS: Final = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_MINUTES: Final = {"minute": 1, "hour": 60, "day": 1440, "week": 10_080, "month": 43_200, "year": 525_600}
_LETTERS: Final = {"access": "a", "read": "a", "change": "c", "modif": "m", "old": "m", "new": "m", "edit": "m"}


def find_tests(instruction: str) -> Iterator[str]:
    """Yield the conditions that an instruction states for files, as predicates of `find`."""
    lowered = instruction.lower()
    if kind := _kind(lowered):
        yield f"-type {kind}"
    if name := _name(instruction):
        folds = re.search(r"case[- ]?insensitiv|ignor\w+ (?:the )?case", lowered)
        yield f"{'-iname' if folds else '-name'} {name}"
    if re.search(r"\bempty\b", lowered):
        yield "-empty"
    yield from _size_tests(lowered)
    yield from _time_tests(lowered)
    yield from _owner_tests(instruction)


def _kind(lowered: str) -> str | None:
    for pattern, kind in ((r"sym(?:bolic )?links?|symlinks?", "l"), (r"\bfiles?\b|\bscripts?\b", "f")):
        if re.search(pattern, lowered):
            return kind
    return "d" if re.search(r"(?:sub)?(?:director(?:y|ies)|folders?)\b", lowered) else None


def _name(instruction: str) -> str | None:
    lowered = instruction.lower()
    if match := re.search(r"\b(?:named|called|names? match(?:es|ing)?)\s+[\"'`]?([\w.*?+-]+)", instruction):
        return shlex.quote(match[1].rstrip(".,"))
    for pattern, form in ((r"(?:start|begin)\w*\s+with", "{}*"), (r"end\w*\s+(?:with|in)", "*{}")):
        if match := re.search(rf"\b{pattern}\s+(?:the\s+\w+\s+)?[\"'`]?([\w.+-]+)", instruction):
            return shlex.quote(form.format(match[1].rstrip(".,")))
    if re.search(r"\bhidden\b", lowered):
        return "'.*'"
    extension = find_extension(lowered)
    return shlex.quote(f"*.{extension}") if extension else None


def _size_tests(lowered: str) -> Iterator[str]:
    size = r"(\d+)\s*(k|m|g|b)?(?:i?b|bytes?|ilobytes?|egabytes?|igabytes?)?\b"
    more = r"(?:more|larger|bigger|greater|over|above|exceed\w*)(?:\s+than)?"
    less = r"(?:less|smaller|under|below|fewer)(?:\s+than)?"
    for comparison, sign in ((more, "+"), (less, "-")):
        match = re.search(rf"\b{comparison}\s+{size}(?!\s*(?:days?|hours?|minutes?|weeks?|lines?|times))", lowered)
        if match and re.search(r"byte|size|larger|bigger|smaller|\d\s*[kmg]i?b?\b", lowered):
            yield f"-size {sign}{int(match[1]) * _UNITS[match[2] or '']}c"


def _time_tests(lowered: str) -> Iterator[str]:
    letter = next((letter for word, letter in _LETTERS.items() if word in lowered), "m")
    match = re.search(r"\b(\d+|" + "|".join(NUMBER_WORDS) + r")?\s*(minute|hour|day|week|month|year)s?\b", lowered)
    if not match or not re.search(r"modif|access|chang|old|new|edit|creat|touch|read", lowered):
        return
    count = NUMBER_WORDS.get(match[1] or "one") or int(match[1])
    sign = "+" if re.search(r"\bmore than|\bolder|\bbefore|\bover\b|\bat least|\bago\b", lowered) else "-"
    minutes = count * _MINUTES[match[2]]
    yield f"-{letter}time {sign}{minutes // 1440}" if minutes % 1440 == 0 else f"-{letter}min {sign}{minutes}"


def _owner_tests(instruction: str) -> Iterator[str]:
    lowered = instruction.lower()
    accounts = dict(find_accounts(instruction))
    for option in ("user", "group"):
        if option in accounts and re.search(r"\bown|\bbelong", lowered):
            yield f"-{option} {accounts[option]}"
    if "mode" in accounts and re.search(r"\b(?:with|have|having|whose|has)\b", lowered):
        yield f"-perm {accounts['mode']}"
    elif re.search(r"world[- ]writable|writable by (?:others|everyone|anyone)", lowered):
        yield "-perm -o+w"
    elif re.search(r"\bexecutable\b", lowered) and not re.search(r"\bmake\b", lowered):
        yield "-perm /a+x"
