"""The NLC2CMD score of a pair: how well the utilities and flags of a command agree with those of a reference.

The score of the NLC2CMD competition (Agarwal et al. 2021, "NeurIPS 2020 NLC2CMD Competition: Translating
Natural Language to Bash Commands"). It never runs a command and never looks at arguments. Utilities are
compared by position. With T the larger number of utilities, and two flag sets at each position,

    S_F      = (2 * flags in both - flags in either) / flags in the larger set, and 1 where both are empty
    position = (1 + S_F) / 2 where the utilities are the same, else -1
    score    = the mean over the T positions, in [-1, 1]

Where the paper's words and the organisers' program differ, the program is followed, since the published
numbers are the program's. Its reading of a command:

* Utilities are a pre-order walk: pipeline stages and what is nested in them, each counting in T. The flags
  of what is nested count for every utility around it too.
* Flags are a set of names without values. `--all` and `-a` are two names, and so are the flags of `head -5`
  and `head -n 5`.
* `find -exec … \\;` and `find -exec … +` are two flags; `-prune` and the operators are none.
* `xargs` with a command has the flag `-I`; `egrep` and `fgrep` are `grep` with `-E` and `-F`. `sudo` and a
  leading prompt (`$ ` or `# `) are not there.
* In text that is no command, bare parentheses are taken for those of `find` and escaped.

Their grammar refuses about a sixth of real commands (lists, redirections, loops, utilities it does not
know). That is a limit of their program, not of the metric: here they are read like any other command.

It stands beside the parsers because a metric and a judge are both made of it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from evaluator.shell import Flag, Options, Utility, option_table, read_utilities
from evaluator.shell.utilities import EXECUTORS

_PROMPT: Final = re.compile(r"^\s*[$#]\s+")
_ALIASES: Final = {"egrep": "-E", "fgrep": "-F"}
_BARE: Final = re.compile(r"(?<=\s)([()])(?=\s)")
_DASHES: Final = re.compile(r"[\u2013\u2014]\s*")
_QUOTES: Final = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


class Signature(NamedTuple):
    """What the metric sees of one utility: its name and the flags of its whole subtree."""

    utility: str
    flags: frozenset[str]


@lru_cache(maxsize=65_536)
def signatures_of(command: str | bytes) -> tuple[Signature, ...] | None:
    """A command's utilities as the metric compares them, in pre-order; None where it is unreadable."""
    text = command.decode(errors="replace") if isinstance(command, bytes) else command
    tidy = _tidy(text)
    for reading in dict.fromkeys((tidy, _BARE.sub(r"\\\1", tidy), text)):
        utilities = read_utilities(reading, option_table_2020())
        if utilities is not None:
            return tuple(_flatten(utilities)[0])
    return None


def _tidy(text: str) -> str:
    """Without prompt, and with a keyboard's dashes and quotes where a word processor has set its own."""
    return _DASHES.sub("-", _PROMPT.sub("", text)).translate(_QUOTES)


@cache
def option_table_2020() -> Mapping[str, Options]:
    """The option table as the organisers' program had it."""
    entries = tomllib.loads(files("evaluator.shell").joinpath("nlc2cmd.toml").read_text(encoding="utf-8"))
    table = dict(option_table())
    for name, entry in entries.items():
        table[name] = _as_in_2020(table.get(name, Options()), entry)
    return table


def _as_in_2020(options: Options, entry: Mapping[str, Any]) -> Options:
    if entry.get("none"):
        return Options()
    without = set(entry.get("without", "").split())
    letters = frozenset(flag[1:] for flag in without)
    return options._replace(
        flags=options.flags - letters,
        values=options.values - letters,
        attached=options.attached - letters | frozenset(entry.get("attached", "")),
        words={word: count for word, count in options.words.items() if word not in without},
        runs=options.runs if entry.get("runs", True) else None,
    )


def _flatten(utilities: Iterable[Utility]) -> tuple[list[Signature], frozenset[str]]:
    """Signatures of utilities and of all that is nested in them, and the union of their flags."""
    found: list[Signature] = []
    everything: frozenset[str] = frozenset()
    for utility in utilities:
        inner, flags = _flatten(utility.nested)
        if utility.name != "sudo" and not _unnamed(utility):
            flags |= _own_flags(utility)
            found.append(Signature("grep" if utility.name in _ALIASES else utility.name, flags))
        found += inner
        everything |= flags
    return found, everything


def _unnamed(utility: Utility) -> bool:
    """Whether the shell must expand a name before it is known which utility it is."""
    return "$" in utility.name or utility.name.startswith("~")


def _own_flags(utility: Utility) -> frozenset[str]:
    names = {_flag_name(flag) for flag in utility.flags}
    if utility.name in _ALIASES:
        names.add(_ALIASES[utility.name])
    elif utility.name == "xargs" and not all(map(_unnamed, utility.nested)):
        names.add("-I")
    elif utility.name == "find":
        names.discard("-prune")
    return frozenset(names)


def _flag_name(flag: Flag) -> str:
    return f"{flag.name}::{flag.value or ';'}" if flag.name in EXECUTORS else flag.name


def flag_score(predicted: frozenset[str], referenced: frozenset[str]) -> float:
    """S_F of two flag sets: 1 where equal, down to -2 where they are disjoint and equally large.

    >>> flag_score(frozenset({"-l", "-a"}), frozenset({"-l"}))
    0.0
    """
    larger = max(len(predicted), len(referenced))
    if not larger:
        return 1.0
    return (2 * len(predicted & referenced) - len(predicted | referenced)) / larger


@lru_cache(maxsize=65_536)
def _score(predicted: tuple[Signature, ...], referenced: tuple[Signature, ...]) -> float:
    positions = max(len(predicted), len(referenced))
    if not positions:
        return 1.0
    agreed = [
        (1 + flag_score(mine.flags, theirs.flags)) / 2 if mine.utility == theirs.utility else -1.0
        for mine, theirs in zip(predicted, referenced, strict=False)
    ]
    return (sum(agreed) - (positions - len(agreed))) / positions


def score_pair(prediction: str | bytes, reference: str | bytes) -> float:
    """NLC2CMD score of one command against one reference, in [-1, 1], before confidence.

    An empty or unreadable prediction scores -1; so does a readable one against an unreadable reference,
    unless the two are the same text.

    >>> score_pair("find . -type f | tail -n 5", "find . -type f -ctime -3 | tail -n 5")
    0.75
    """
    if not prediction.strip():
        return -1.0
    predicted, referenced = signatures_of(prediction), signatures_of(reference)
    if predicted is None or referenced is None:
        return 1.0 if prediction == reference else -1.0
    return _score(predicted, referenced)
