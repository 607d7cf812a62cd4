"""Load from `nlc2cmd.toml` the options and operands that the NLC2CMD reference program of 2020 knew."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from evaluator.shell.options import Options, option_table

_NUMBER: Final = re.compile("[0-9]")


class Grammar(NamedTuple):
    """The NLC2CMD reference program's grammar of one utility.

    flags     all options (`-a`, `-name`, `--all`), mapped to the number of their values
    attached  the flags that never take the next word as their value
    commands  the flags whose value is a command line in quotes
    operands  one letter for each operand (`nlc2cmd.toml` explains the letters)
    number    true if a word that begins with a dash and an unknown flag is read as the flag `-` with a value
    """

    flags: dict[str, int]
    attached: frozenset[str]
    commands: frozenset[str]
    operands: str
    number: bool


@cache
def grammar_2020() -> Mapping[str, Grammar]:
    """Return the grammar of each utility that the NLC2CMD reference program knew. It refused all other utilities."""
    table = tomllib.loads(files("evaluator.shell.nlc2cmd").joinpath("nlc2cmd.toml").read_text(encoding="utf-8"))
    return {name: _grammar(table[entry["like"]] if "like" in entry else entry) for name, entry in table.items()}


def _grammar(entry: Mapping[str, Any]) -> Grammar:
    letters = re.findall(r"([^:])(:*)", entry.get("letters", ""))
    flags = {f"-{letter}": int(bool(colons)) for letter, colons in letters}
    for dashes, key in (("-", "words"), ("--", "long")):
        flags |= {dashes + name.rstrip("="): int(name.endswith("=")) for name in entry.get(key, "").split()}
    commands = {f"-{letter}" for letter in entry.get("commands", "")}
    commands |= {f"--{name}" for name in entry.get("long_commands", "").split()}
    flags |= entry.get("word_counts", {}) | dict.fromkeys(commands, 1)
    return Grammar(
        flags=flags,
        attached=frozenset(f"-{letter}" for letter, colons in letters if colons == "::"),
        commands=frozenset(commands),
        operands=entry.get("operands", ""),
        number=entry.get("number", False),
    )


@cache
def option_table_2020() -> Mapping[str, Options]:
    """Return a copy of this project's option table, with the NLC2CMD program's options for each utility that it knew.

    The table is used to read commands that the NLC2CMD program refused. It gives their flags the same meaning as in
    commands that the program accepted. A utility that runs a command also keeps this project's options, because they
    tell where the command begins.
    """
    table = dict(option_table())
    for name, grammar in grammar_2020().items():
        table[name] = _as_options(grammar, table.get(name, Options()))
    return table


def _as_options(grammar: Grammar, options: Options) -> Options:
    letters = {flag[1]: values for flag, values in grammar.flags.items() if len(flag) == 2}
    attached = frozenset(flag[1] for flag in grammar.attached)
    scripts = [flag[1] for flag in sorted(grammar.commands) if len(flag) == 2 and options.script == flag[1]]
    script = scripts[0] if scripts and "*" not in grammar.operands else ""
    values = frozenset(letter for letter, count in letters.items() if count) - attached - {script}
    long_values = frozenset(flag[2:] for flag, n in grammar.flags.items() if flag[:2] == "--" and n)
    own = options if options.runs is not None or script else Options()
    return options._replace(
        flags=(frozenset(letters) - values - attached - {script}) | (own.flags - letters.keys()),
        values=values | (own.values - letters.keys()),
        attached=attached | (own.attached - letters.keys()),
        long_values=long_values if own is not options else options.long_values,
        words={flag: n for flag, n in grammar.flags.items() if len(flag) > 2 and flag[1] != "-"},
        number=(options.number or _NUMBER) if grammar.number else None,
        script=script,
    )
