"""Compute the NLC2CMD score of a pair: how well the utilities and flags of a command and a reference agree.

This is the score of the NLC2CMD competition (Agarwal et al. 2021, "NeurIPS 2020 NLC2CMD Competition: Translating
Natural Language to Bash Commands"). The score ignores arguments, and no command is executed. Utilities are compared by
position. T is the number of utilities in the command that has more of them. With the two flag sets at a position,

    S_F      = (2 * flags in both - flags in either) / flags in the larger set
    position = (1 + S_F) / 2 if the utilities are the same, else -1
    score    = the mean over the T positions, in [-1, 1]

S_F is 1 if both flag sets are empty.

The paper and the organisers' program sometimes differ. This module follows the program, because the published numbers
come from it. The program reads a command as follows:

* Utilities are listed in pre-order: pipeline stages and everything nested in them. Each of them counts in T. The flags
  of a nested utility also count for every utility around it.
* Flags are a set of names without values. `--all` and `-a` are two names, and so are the flags of `head -5` and
  `head -n 5`.
* `find -exec … \\;` and `find -exec … +` are two flags. `-prune` and the operators of `find` are not flags.
* `xargs` with a command has the flag `-I`. `egrep` and `fgrep` are `grep` with `-E` and `-F`. `sudo` and a leading
  prompt (`$ ` or `# `) are ignored. In a refused command, `# ` is a prompt only in front of a single line that reads
  as a command, and otherwise a comment.

`reference_2020` reads commands exactly as the program did. The program refused about a sixth of real commands: lists,
redirections, loops, and utilities and long options outside its grammar. The metric is defined for these commands too.
So `evaluator.shell.utilities` reads them, with the program's grammar for the utilities that it knew. It also reads
the commands that the program misread: those of several lines, those with a `+` inside of `find -exec … \\;`, and those
in which it overlooked a call (after `env`, after an assignment, or in an expansion such as `${x:-$(date)}`).
This reading agrees with the program for 99.2 % of the 8,636 different commands of NL2Bash that the program reads.
With `strict_2020`, misread commands stay misread, and refused commands stay refused and score as in 2020: -1 if one
side is refused, and 0 if both sides are refused, even if they are the same.

The recorded output of the program covers 6,908 different commands. This module reads or refuses all of them as the
program did, with the same utilities and flags. The known differences are:

* Two commands that call nothing score 1. In the program, they scored 0, the mean over no positions.
* The program's grammar was published except for a dozen utilities (`curl`, `lsof`, `md5`, `netstat`, `pr`, `printf`,
  `stat`, `test`, `zip` among them). For these, only the options in the recorded commands are known. Other options are
  read as operands.
* The program used its own copy of an older bashlex. No command is known that the two versions split differently.

The score is in this package because a metric and a judge both use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from evaluator.shell import Utility, bashlex_reader, read_utilities
from evaluator.shell.nlc2cmd.grammar_2020 import option_table_2020
from evaluator.shell.nlc2cmd.reference_2020 import UnsupportedCommandError, parse_like_reference
from evaluator.shell.nlc2cmd.tree_2020 import ReferenceCall
from evaluator.shell.nlc2cmd.typo_fixes import fix_words
from evaluator.shell.utilities import EXECUTORS

_PROMPT: Final = re.compile(r"^\s*(?P<sign>[$#])\s+")
_ALIASES: Final = {"egrep": "-E", "fgrep": "-F"}
_DASHES: Final = re.compile(r"[\u2013\u2014]\s*")
_MAY_HIDE: Final = re.compile(r"[$`=]|\b(?:env|(?:ba)?sh)\b")
"""What may stand before a call that the organisers' program overlooked."""

_QUOTES: Final = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


class Signature(NamedTuple):
    """A utility in the form that NLC2CMD compares: its name, and a set of its flags and those of nested utilities."""

    utility: str
    flags: frozenset[str]


class MetricReading(NamedTuple):
    """A command as the NLC2CMD metric reads it.

    called      utilities in pre-order, each with its flags and those of nested utilities, or None if unreadable
    signatures  the same utilities in the form that the metric compares, or None if unreadable
    strict      the utilities that the organisers' program saw, or None if it refused the command
    refused     the reason why the organisers' program refused the command, or None if it accepted the command
    """

    called: tuple[ReferenceCall, ...] | None
    signatures: tuple[Signature, ...] | None
    strict: tuple[ReferenceCall, ...] | None
    refused: str | None


@lru_cache(maxsize=65_536)
def reading_of(command: str | bytes) -> MetricReading:
    """Read a command as the NLC2CMD metric does. Raise no error for any command: "unreadable" is a normal result."""
    text = command.decode(errors="replace") if isinstance(command, bytes) else command
    try:
        strict: tuple[ReferenceCall, ...] | None = parse_like_reference(text)
        refused = None
    except UnsupportedCommandError as error:
        strict, refused = None, str(error)
    called = strict
    # The program joined lines, and ended `find -exec` at every `+`.
    is_misread = strict is None or "\n" in text.strip() or ("+" in text and any(each in text for each in EXECUTORS))
    if is_misread or _MAY_HIDE.search(text):
        own = read_tolerantly(text)
        called = own if is_misread or len(own or ()) > len(strict or ()) else strict
    return MetricReading(called, None if called is None else _signatures(called), strict, refused)


def _signatures(called: Iterable[ReferenceCall]) -> tuple[Signature, ...]:
    return tuple(Signature(name, frozenset(flags)) for name, flags in called)


def forget_commands() -> None:
    """Clear the caches of commands and scores, so that a time measurement starts with empty caches."""
    for cached in (reading_of, _score, bashlex_reader.cached_trees):
        cached.cache_clear()


def read_tolerantly(text: str) -> tuple[ReferenceCall, ...] | None:
    """Read a command that the NLC2CMD program refused, with this program's grammar. Return None if it is unreadable."""
    # A word processor may have replaced the keyboard's dashes and quotes.
    tidy = _DASHES.sub("-", _without_prompt(text)).translate(_QUOTES)
    for candidate in dict.fromkeys((tidy, fix_words(tidy), text)):
        utilities = read_utilities(candidate, option_table_2020())
        if utilities is not None:
            return tuple(_flatten(utilities)[0])
    return None


def _without_prompt(text: str) -> str:
    prompt = _PROMPT.match(text)
    if prompt is None or (prompt["sign"] == "#" and "\n" in text[prompt.end() :].strip()):
        return text
    return text[prompt.end() :]


def _flatten(utilities: Iterable[Utility]) -> tuple[list[ReferenceCall], tuple[str, ...]]:
    """Return a list of these and all nested utilities in pre-order, and a tuple with the flags of all of them."""
    calls: list[ReferenceCall] = []
    all_flags: tuple[str, ...] = ()
    for utility in utilities:
        inner, flags = _flatten(utility.nested)
        if utility.name != "sudo" and not _has_unknown_name(utility):
            flags = _own_flags(utility) + flags
            calls.append(ReferenceCall("grep" if utility.name in _ALIASES else utility.name, flags))
        calls += inner
        all_flags += flags
    return calls, all_flags


def _has_unknown_name(utility: Utility) -> bool:
    """Return whether the name of a utility contains an expansion, so that only the shell can know the utility."""
    return "$" in utility.name or utility.name.startswith("~")


def _own_flags(utility: Utility) -> tuple[str, ...]:
    names = [f"{flag.name}::{flag.value or ';'}" if flag.name in EXECUTORS else flag.name for flag in utility.flags]
    if utility.name in _ALIASES and _ALIASES[utility.name] not in names:
        names.insert(0, _ALIASES[utility.name])
    elif utility.name == "xargs" and "-I" not in names and not all(map(_has_unknown_name, utility.nested)):
        names.append("-I")
    elif utility.name == "find":
        names = [name for name in names if name != "-prune"]
    return tuple(names)


def flag_score(predicted: frozenset[str], referenced: frozenset[str]) -> float:
    """Return S_F, the agreement of two flag sets, from -2 (disjoint, equal size) to 1 (equal sets).

    S_F = (2 * flags in both - flags in either) / flags in the larger set. S_F is 1 if both sets are empty.

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
    scores = [
        (1 + flag_score(one.flags, other.flags)) / 2 if one.utility == other.utility else -1.0
        for one, other in zip(predicted, referenced, strict=False)
    ]
    return (sum(scores) - (positions - len(scores))) / positions


def score_pair(prediction: str | bytes, reference: str | bytes, *, strict_2020: bool = False) -> float:
    """Return the NLC2CMD score of a predicted command against a reference, in [-1, 1].

    The competition's confidence factor is left out. An empty prediction scores -1. If the prediction or the reference
    is unreadable, the score is 1 for equal texts and -1 for different texts. With `strict_2020`, commands that
    the organisers' program refused stay refused and score as they did in 2020.

    >>> score_pair("find . -type f | tail -n 5", "find . -type f -ctime -3 | tail -n 5")
    0.75
    >>> score_pair("ls > names", "ls"), score_pair("ls > names", "ls", strict_2020=True)
    (1.0, -1.0)
    """
    predicted, referenced = reading_of(prediction), reading_of(reference)
    if strict_2020:
        accepted = [_signatures(reading.strict or ()) for reading in (predicted, referenced)]
        return _score(*accepted) if any(accepted) else 0.0
    if not prediction.strip():
        return -1.0
    if predicted.signatures is None or referenced.signatures is None:
        return 1.0 if prediction == reference else -1.0
    return _score(predicted.signatures, referenced.signatures)
