"""The state a shell was left in, as facts: directory, umask, variables, functions, aliases, options, traps.

What bash keeps for itself is left out, because it tells how a command was written and not what it left:
its clocks, counters, dice and call stack, the words of the last command, where `cd` came from, and what
`read`, `getopts` and `[[ =~ ]]` fill when they are given no name. PWD, SHELLOPTS and BASHOPTS repeat the
directory and the options, which are compared by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from enum import IntEnum
from typing import Final

from evaluator.judges.consensus.effects import Difference, Dimension, EffectKey, Facts
from evaluator.judges.reasons import shown
from evaluator.records import Evidence, Observation, Step, Task


class ShellFacet(IntEnum):
    """What is compared of a shell, in the order in which differences are told."""

    ALIVE = 0
    DIRECTORY = 1
    UMASK = 2
    VARIABLE = 3
    FUNCTION = 4
    ALIAS = 5
    OPTION = 6
    TRAP = 7


_ITS_OWN: Final = re.compile(
    r"_|PIPESTATUS|BASH(OPTS|PID)?|BASH_.*|SHELLOPTS|LINENO|RANDOM|SRANDOM|SECONDS|EPOCH(SECONDS|REALTIME)"
    r"|PPID|SHLVL|PWD|OLDPWD|FUNCNAME|DIRSTACK|GROUPS|HISTCMD|COMP_.*|OPT(ARG|ERR|IND)|REPLY"
)
_HELPER: Final = re.compile(rb"declare -[-aAi]+ ")
"""What `declare -p` says of a variable without the attributes that make it more than a helper."""

_HEEDED: Final = frozenset(
    {
        "CDPATH",
        "ENV",
        "EXECIGNORE",
        "FIGNORE",
        "GLOBIGNORE",
        "GLOBSORT",
        "IGNOREEOF",
        "INPUTRC",
        "POSIXLY_CORRECT",
        "PROMPT_COMMAND",
        "PS0",
        "PS1",
        "PS3",
        "TIMEFORMAT",
        "TMOUT",
        "TMPDIR",
        "HISTFILE",
        "HISTSIZE",
        "HISTCONTROL",
        "HISTFILESIZE",
        "HISTIGNORE",
        "HISTTIMEFORMAT",
        "HOSTFILE",
        "MAILCHECK",
        "MAIL",
        "MAILPATH",
        "LC_ALL",
        "LC_COLLATE",
        "LC_CTYPE",
        "LC_MESSAGES",
        "LC_NUMERIC",
        "LC_TIME",
        "FUNCNEST",
        "BASH_ENV",
    }
)
"""Variables that change what bash does though nobody exports them."""

_OPTION: Final = re.compile(r"(?:set|shopt) (?P<state>[-+]o|-[su]) (?P<name>\w+)")


def shell_facts(evidence: Evidence, task: Task) -> Facts:
    """Facts of the shell. One that cannot be seen any more shows nothing but that."""
    shell = evidence.shell
    if shell is None:
        return {}
    facts: dict[EffectKey, Hashable] = {EffectKey(b"", ShellFacet.ALIVE): shell.alive}
    if not shell.alive:
        return facts
    facts[EffectKey(b"", ShellFacet.DIRECTORY)] = shell.cwd
    facts[EffectKey(b"", ShellFacet.UMASK)] = shell.umask.lstrip("0")
    for name, value in shell.variables.items():
        if not is_its_own(name):
            facts[EffectKey(name.encode(), ShellFacet.VARIABLE)] = value
    facts.update({EffectKey(name.encode(), ShellFacet.FUNCTION): body for name, body in shell.functions.items()})
    facts.update({EffectKey(name.encode(), ShellFacet.ALIAS): text for name, text in shell.aliases.items()})
    facts.update(map(_option_fact, shell.options))
    facts.update({EffectKey(trap, ShellFacet.TRAP): True for trap in shell.traps})
    return facts


def _option_fact(line: str) -> tuple[EffectKey, Hashable]:
    """An option's name and state, from a line of `set +o` or `shopt -p`, or the bare name of one that is on."""
    found = _OPTION.fullmatch(line)
    name, state = (found["name"], found["state"] in ("-o", "-s")) if found else (line, True)
    return EffectKey(name.encode(), ShellFacet.OPTION), "on" if state else "off"


def is_its_own(variable: str) -> bool:
    """True for a variable that bash keeps for itself.

    A near miss sets another variable, value, option or directory; none of these can be what a task asks
    to set, because bash overwrites them, refuses to, or mirrors what is compared elsewhere.
    """
    return _ITS_OWN.fullmatch(variable) is not None


def is_left_over(difference: Difference) -> bool:
    """True for a variable that a command used and left behind, which no reference sets and no program will see.

    `d=$(...); cd "$d"` does what is asked as `cd "$(...)"` does. A near miss sets another variable than the one
    asked for, and that one is then missing; one that exports, reads only or changes what bash heeds is no helper:
    those of the shell that a command starts in are set by every reference too.
    """
    value = difference.found
    return (
        difference.key.facet is ShellFacet.VARIABLE
        and not difference.expected
        and isinstance(value, bytes)
        and _HELPER.match(value) is not None
        and difference.key.subject.decode(errors="replace") not in _HEEDED
    )


def name_fact(key: EffectKey) -> str:
    """Which field of the shell, for people."""
    facet = ShellFacet(key.facet).name.lower()
    return f"{facet} {shown(key.subject)}" if key.subject else f"shell's {facet}"


def describe(difference: Difference) -> str:
    """One sentence: how the shell was left, and how the references leave it."""
    key, present, found, expected = difference
    if key.facet is ShellFacet.ALIVE:
        return "leaves no shell to look at" if not found else "leaves a shell where the references leave none"
    if not expected:
        return f"leaves {name_fact(key)} set, which no reference does"
    if not present:
        return f"leaves {name_fact(key)} not set, which every reference sets"
    wanted = " or ".join(_value(value) for value in expected)
    return f"leaves {name_fact(key)} at {_value(found)}, expected {wanted}"


def _value(value: object) -> str:
    return shown(value) if isinstance(value, bytes | str) else repr(value)


SHELL: Final = Dimension(Step.SHELL, Observation.SHELL, shell_facts, describe, name_fact)
"""The shell's state, for tasks that observe it."""
