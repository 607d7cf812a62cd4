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

What their program read is read as it did (`organisers`). It refused about a sixth of real commands: lists,
redirections, loops, utilities and long options it did not know. That is a limit of the program, not of the metric,
so these are read by `utilities`, with the program's grammar for the utilities that it has: of the 8,639 different
commands of NL2Bash that the program reads, 99.4 % read the same that way. With `strict_2020` the others stay
refused, which scores what it scored then: -1 where one side is refused, 0 where both are, even if they are the same.

Their program had read or refused 6,908 different commands; all are read or refused here, and with the same utilities
and flags. What is known to differ:

* Two commands that call nothing agree (1), where the mean over no position was 0 to it.
* Its grammar was published but for a dozen utilities (`curl`, `lsof`, `md5`, `netstat`, `pr`, `printf`, `stat`, `test`,
  `zip` among them). Of these only such options are known as those commands show; others are taken for operands.
* It read with its own copy of an older bashlex. No command is known that the two cut differently.

It stands beside the parsers because a metric and a judge are both made of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from evaluator.shell import Flag, Utility, bashlex_reader, read_utilities
from evaluator.shell.nlc2cmd.grammar_2020 import option_table_2020
from evaluator.shell.nlc2cmd.reference_2020 import ReferenceCall, UnsupportedCommandError, parse_like_reference
from evaluator.shell.nlc2cmd.typo_fixes import mended_words
from evaluator.shell.utilities import EXECUTORS

_PROMPT: Final = re.compile(r"^\s*[$#]\s+")
_ALIASES: Final = {"egrep": "-E", "fgrep": "-F"}
_DASHES: Final = re.compile(r"[\u2013\u2014]\s*")
_QUOTES: Final = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


class Signature(NamedTuple):
    """What the metric sees of one utility: its name and the flags of its whole subtree."""

    utility: str
    flags: frozenset[str]


class MetricReading(NamedTuple):
    """A command as the metric reads it.

    called      its utilities in pre-order, with the flags of each one's subtree as often as they are given; None
                where the command is unreadable
    signatures  the same as the metric compares it
    refused     why the organisers' program refused it; None where it did not
    """

    called: tuple[ReferenceCall, ...] | None
    signatures: tuple[Signature, ...] | None
    refused: str | None


@lru_cache(maxsize=65_536)
def reading_of(command: str | bytes) -> MetricReading:
    """A command's utilities and flags. Nothing raises: what is unreadable is an answer too."""
    text = command.decode(errors="replace") if isinstance(command, bytes) else command
    try:
        called: tuple[ReferenceCall, ...] | None = parse_like_reference(text)
        refused = None
    except UnsupportedCommandError as error:
        called, refused = read_tolerantly(text), str(error)
    if called is None:
        return MetricReading(None, None, refused)
    return MetricReading(called, tuple(Signature(name, frozenset(flags)) for name, flags in called), refused)


def signatures_of(command: str | bytes, *, strict_2020: bool = False) -> tuple[Signature, ...] | None:
    """A command's utilities as the metric compares them; None where it is unreadable, or refused in 2020."""
    reading = reading_of(command)
    return None if strict_2020 and reading.refused is not None else reading.signatures


def forget_commands() -> None:
    """Forget what was read and scored, so that a measurement begins with nothing."""
    for remembered in (reading_of, _score, bashlex_reader.remembered):
        remembered.cache_clear()


def read_tolerantly(text: str) -> tuple[ReferenceCall, ...] | None:
    """A command that their program refused, read by us with its eyes; None where it is unreadable."""
    tidy = _tidy(text)
    for reading in dict.fromkeys((tidy, mended_words(tidy), text)):
        utilities = read_utilities(reading, option_table_2020())
        if utilities is not None:
            return tuple(_flatten(utilities)[0])
    return None


def _tidy(text: str) -> str:
    """Without prompt, and with a keyboard's dashes and quotes where a word processor has set its own."""
    return _DASHES.sub("-", _PROMPT.sub("", text)).translate(_QUOTES)


def _flatten(utilities: Iterable[Utility]) -> tuple[list[ReferenceCall], tuple[str, ...]]:
    """Utilities with all that is nested in them, and the flags of all together."""
    found: list[ReferenceCall] = []
    everything: tuple[str, ...] = ()
    for utility in utilities:
        inner, flags = _flatten(utility.nested)
        if utility.name != "sudo" and not _unnamed(utility):
            flags = _own_flags(utility) + flags
            found.append(ReferenceCall("grep" if utility.name in _ALIASES else utility.name, flags))
        found += inner
        everything += flags
    return found, everything


def _unnamed(utility: Utility) -> bool:
    """Whether the shell must expand a name before it is known which utility it is."""
    return "$" in utility.name or utility.name.startswith("~")


def _own_flags(utility: Utility) -> tuple[str, ...]:
    names = [_flag_name(flag) for flag in utility.flags]
    if utility.name in _ALIASES and _ALIASES[utility.name] not in names:
        names.insert(0, _ALIASES[utility.name])
    elif utility.name == "xargs" and "-I" not in names and not all(map(_unnamed, utility.nested)):
        names.append("-I")
    elif utility.name == "find":
        names = [name for name in names if name != "-prune"]
    return tuple(names)


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


def score_pair(prediction: str | bytes, reference: str | bytes, *, strict_2020: bool = False) -> float:
    """NLC2CMD score of one command against one reference, in [-1, 1], before confidence.

    An empty or unreadable prediction scores -1; so does a readable one against an unreadable reference,
    unless the two are the same text. With `strict_2020` what the organisers' program refused is refused.

    >>> score_pair("find . -type f | tail -n 5", "find . -type f -ctime -3 | tail -n 5")
    0.75
    >>> score_pair("ls > names", "ls"), score_pair("ls > names", "ls", strict_2020=True)
    (1.0, -1.0)
    """
    mine, theirs = reading_of(prediction), reading_of(reference)
    if strict_2020:
        kept = [() if each.refused is not None else each.signatures or () for each in (mine, theirs)]
        return _score(*kept) if any(kept) else 0.0
    if not prediction.strip():
        return -1.0
    if mine.signatures is None or theirs.signatures is None:
        return 1.0 if prediction == reference else -1.0
    return _score(mine.signatures, theirs.signatures)
