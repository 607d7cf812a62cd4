"""Load the options of common utilities from `options.toml`.

The text alone does not show whether `-n5` is one flag with a value or two flags. Each utility has its own rule, so a
parser needs a table of the options of each utility. This module loads the table, and `evaluator.shell.utilities`
applies it.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Options(NamedTuple):
    """The options of one utility. A letter is an option such as `-a`. Several letters can follow one dash (`-la`).

    flags       letters that take no value
    values      letters that take a value, attached or as the next word
    attached    letters that take an optional value, which must be attached
    long_values names of long options, without the dashes, that take the next word as value
    words       whole single-dash words (`find -name`), mapped to the number of words that follow as values
    number      pattern of a count, a signal or an index after a dash (`head -5`, `kill -KILL`)
    runs        number of operands before the command that this utility runs, or None if it runs no command
    names       letters with which `runs` does not hold: the utility only looks the command up (`command -v`)
    joins       whether the shell reads the words of the command again, joined with blanks (`eval`, `ssh`)
    ends        words that end the command (`parallel gzip ::: a b`)
    script      the letter whose value is a command line for a shell (`sh -c`, `rsync -e`)
    scripts     names of long options, without the dashes, whose value is a command line for a shell
    operand     whether the first operand is a command line for a shell (`trap`)
    splits      the letter and the long name whose value is split into words, which take the value's place (`env -S`)
    bundled     the letters in the first word need no dash (`tar xvf`)
    long        names of long options, without the dashes, and letters, mapped to the letter of the same meaning
    free        letters that take no value, and whose order and number say nothing beside each other
    beside      letters that take a value and keep their order, but not beside those of `free`
    known       False for a utility that `options.toml` does not list: any letter is then a flag without a value
    """

    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    attached: frozenset[str] = frozenset()
    long_values: frozenset[str] = frozenset()
    words: dict[str, int] = {}  # noqa: RUF012 - a NamedTuple's default, never written to
    number: re.Pattern[str] | None = None
    runs: int | None = None
    names: frozenset[str] = frozenset()
    joins: bool = False
    ends: frozenset[str] = frozenset()
    script: str = ""
    scripts: frozenset[str] = frozenset()
    operand: bool = False
    splits: frozenset[str] = frozenset()
    bundled: bool = False
    long: dict[str, str] = {}  # noqa: RUF012 - a NamedTuple's default, never written to
    free: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    known: bool = True

    def has(self, letter: str) -> bool:
        """Return whether the utility has this single-letter flag."""
        if not self.known:
            return letter.isalpha()
        letters = self.flags | self.values | self.attached
        return letter in letters or letter == self.script or letter in self.splits


UNKNOWN = Options(known=False)


@cache
def option_table() -> dict[str, Options]:
    """Return a mapping from the name of each utility in `options.toml` to its options."""
    table = tomllib.loads(files("evaluator.shell").joinpath("options.toml").read_text(encoding="utf-8"))
    return {name: _options(entry) for name, entry in table.items()}


def _options(entry: dict[str, Any]) -> Options:
    words = dict.fromkeys(entry.get("words", "").split(), 0)
    words |= dict.fromkeys(entry.get("word_values", "").split(), 1)
    words |= entry.get("word_counts", {})
    return Options(
        flags=frozenset(entry.get("flags", "")),
        values=frozenset(entry.get("values", "")),
        attached=frozenset(entry.get("attached", "")),
        long_values=frozenset(entry.get("long_values", "").split()),
        words=words,
        number=re.compile(entry["number"]) if "number" in entry else None,
        runs=entry.get("runs"),
        names=frozenset(entry.get("names", "")),
        joins=entry.get("joins", False),
        ends=frozenset(entry.get("ends", "").split()),
        script=entry.get("script", ""),
        scripts=frozenset(entry.get("scripts", "").split()),
        operand=entry.get("operand", False),
        splits=frozenset(entry.get("splits", "").split()),
        bundled=entry.get("bundled", False),
        long=dict(pair.split("=") for pair in entry.get("long", "").split()),
        free=frozenset(entry.get("free", "")),
        beside=frozenset(entry.get("beside", "")),
    )
