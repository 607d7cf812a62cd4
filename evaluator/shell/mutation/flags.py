"""Mutate the flags of calls: remove one flag with its value, or replace the separator NUL by newline in all calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from evaluator.shell.mutation.script import CallSite, Edit, Edits, Script, removal
from evaluator.shell.options import UNKNOWN, Options, option_table

_SIGNALLED: Final = re.compile(r"(?:[A-Z]{3,5}\d?|\d+)\Z")


def _options(flags: str, values: str, long_values: str = "", *, single: str = "") -> Options:
    return Options(
        frozenset(flags),
        frozenset(values),
        long_values=frozenset(long_values.split()),
        words=dict.fromkeys(single.split(), 0),
    )


_MORE_OPTIONS: Final[Mapping[str, Options]] = {
    "cmp": _options("bls", "in"),
    "comm": _options("123iz", ""),
    "getent": _options("is", ""),
    "install": _options("bcCDdpsTv", "gmotS", "group mode owner target-directory"),
    "jq": _options("cCjMnrRsSeh", "fL", "arg argjson slurpfile rawfile indent"),
    "killall": _options("eIgilqrvwVZ", "nsouy", "user signal"),
    "mapfile": _options("t", "dnOsuCc"),
    "perl": _options("acnpswWlXtTuUvh", "eEFiIMmx0"),
    "pgrep": _options("acflLnovwxqi", "dgGPrstuU"),
    "pkill": _options("ceflnovxqi", "gGPrstuU"),
    "runuser": _options("flmpP", "cgGsuw"),
    "setsid": _options("cfw", ""),
    "unzip": _options("aAbBcCDfjKLlMnNoOpPqTtuUvVWXxZz12:^", "d"),
    "zgrep": option_table()["grep"],
    "zip": _options("0123456789@AcdDeEfFgGhjJklLmoOqrsStTuUvVwxyXz", "bi"),
    "zipinfo": _options("12slmvhMtTzCx", ""),
}
"""Utilities that the option table lacks. That table belongs to a published metric, so mutation must not extend it."""

_ZERO: Final[Mapping[str, str]] = {
    "sort": "z", "head": "z", "tail": "z", "cut": "z", "uniq": "z", "comm": "z", "grep": "z", "sed": "z",
    "xargs": "0", "paste": "z", "join": "z",
}  # fmt: skip
_SYNTAXES: Final[Mapping[str, str]] = {"-F": "\\^$.*[", "-E": "|?+(){}"}
"""Characters whose meaning depends on these flags of `grep`."""

_ZERO_ESCAPE: Final = re.compile(r"\\0(?!\d)")


class FlagAt(NamedTuple):
    """A flag and its position in a command: its name, its value, and the edit that removes the flag."""

    name: str
    value: str
    edit: Edit


def options_of(name: str) -> Options:
    """Return the options of a utility. This module knows some utilities that the project's option table lacks."""
    return _MORE_OPTIONS.get(name) or option_table().get(name, UNKNOWN)


def changes_of_flags(script: Script) -> Iterator[Edits]:
    """Yield changes that remove a flag or a `--`, and one change that replaces all NUL separators by newlines."""
    for call in script.calls:
        if call.name != "find":
            flags = list(flags_of(script.text, call))
            for flag in flags:
                if not _is_guessed(call, flag, flags):
                    yield Edits("drop-flag", (flag.edit,))
        for word in call.words:
            if word.raw == "--":
                yield Edits("drop-dashes", (removal(script.text, word.start, word.end),))
    separators = tuple(edit for call in script.calls for edit in _nul_separators(script.text, call))
    if len(separators) > 1:
        yield Edits("null-pair", separators)


def _is_guessed(call: CallSite, flag: FlagAt, flags: Sequence[FlagAt]) -> bool:
    """Return whether the call would have the same effect without the flag.

    Return True only in three cases: a syntax flag of `grep` that the pattern does not need, a compression flag of a
    `tar` that reads an archive, and a flag of `perl` that another flag implies (-a or -F implies -n, -F implies -a).
    """
    names = {other.name for other in flags}
    if call.name == "grep" and flag.name in _SYNTAXES:
        return not means_something(call, _SYNTAXES[flag.name])
    if call.name == "perl":
        return (flag.name == "-n" and not names.isdisjoint(("-a", "-F"))) or (flag.name == "-a" and "-F" in names)
    return call.name == "tar" and flag.name in ("-z", "-J", "-j") and not names.isdisjoint(("-x", "-t", "-d"))


def means_something(call: CallSite, letters: str) -> bool:
    """Return whether the pattern of a `grep` call contains one of the characters in `letters`.

    Return True also if the pattern is missing or contains an expansion, because then the pattern is unknown.
    """
    operand = next((word for word in call.words if not word.raw.startswith("-")), None)
    return operand is None or any(letter in operand.raw for letter in f"{letters}$`")


def flags_of(text: str, call: CallSite) -> Iterator[FlagAt]:
    """Yield the flags of a call in source order. Leave out the flags of another command that the call runs."""
    options, at = options_of(call.name), 0
    operands = 0
    if options.bundled and call.words and call.words[0].raw.isalpha():
        yield from _cluster(text, call, 0, 0, options)
        at = 1
    while at < len(call.words):
        raw = call.words[at].raw
        if raw == "--" or (options.runs is not None and not raw.startswith("-") and operands >= options.runs):
            return
        operands += not raw.startswith("-")
        count = 1
        if raw.startswith("--") and len(raw) > 2:
            count += "=" not in raw and raw[2:] in options.long_values
            name, _, value = raw.partition("=")
            last = call.words[at : at + count][-1]
            yield FlagAt(name, value, removal(text, call.words[at].start, last.end))
        elif raw.startswith("-") and len(raw) > 1 and _is_signal(call.name, raw):
            pass
        elif raw.startswith("-") and len(raw) > 1 and options.number and options.number.match(raw, 1):
            yield FlagAt("-", raw[1:], removal(text, call.words[at].start, call.words[at].end))
        elif raw.startswith("-") and len(raw) > 1 and options.has(raw[1]):
            cluster = list(_cluster(text, call, at, 1, options))
            count += bool(cluster) and cluster[-1].edit.end > call.words[at].end
            yield from cluster
        at += count


def _is_signal(name: str, raw: str) -> bool:
    return name in ("kill", "pkill", "killall") and _SIGNALLED.match(raw[1:]) is not None


def _cluster(text: str, call: CallSite, at: int, dash: int, options: Options) -> Iterator[FlagAt]:
    """Yield one flag for each letter of a word such as `-xzf`. The next word may be the value of the last letter."""
    word = call.words[at]
    letters = word.raw[dash:]
    for position, letter in enumerate(letters):
        rest = letters[position + 1 :]
        start = word.start + dash + position
        if letter in options.values or letter in options.attached or letter == options.script:
            is_next_word = not rest and letter not in options.attached and at + 1 < len(call.words)
            end = call.words[at + 1].end if is_next_word else word.end
            value = call.words[at + 1].text if is_next_word else rest
            yield FlagAt(f"-{letter}", value, removal(text, word.start, end) if position == 0 else Edit(start, end))
            return
        if letter in options.flags or not options.known:
            edit = removal(text, word.start, word.end) if len(letters) == 1 else Edit(start, start + 1)
            yield FlagAt(f"-{letter}", "", edit)
        else:
            return


def _nul_separators(text: str, call: CallSite) -> Iterator[Edit]:
    """Yield edits after which a call separates its input or output by newlines instead of NUL."""
    if call.name in ("find", "printf"):
        for word in call.words:
            if word.raw == "-print0":
                yield Edit(word.start, word.end, "-print")
            for match in _ZERO_ESCAPE.finditer(word.raw):
                yield word.edit(match.span(), "\\n")
        return
    for flag in flags_of(text, call):
        letter = _ZERO.get(call.name)
        is_delimiter = call.name in ("read", "mapfile") and flag.name == "-d" and flag.value == ""
        if flag.name == f"-{letter}" or is_delimiter or (call.name == "tar" and flag.name == "--null"):
            yield flag.edit
